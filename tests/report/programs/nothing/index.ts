// Nothing is declared any more.
export {};
