import { soak } from "./soak";

soak(4);
