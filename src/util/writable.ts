/** For code that builds an object field by field. */
export type Writable<T> = { -readonly [K in keyof T]: T[K] }
