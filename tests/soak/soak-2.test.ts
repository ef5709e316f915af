import { soak } from "./soak";

soak(2);
