import { soak } from "./soak";

soak(1);
