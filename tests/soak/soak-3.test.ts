import { soak } from "./soak";

soak(3);
