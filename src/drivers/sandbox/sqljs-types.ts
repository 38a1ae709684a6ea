/** The part of sql.js that is used here; the package brings no types. */
export interface SqlStatement {
  step(): boolean
  get(): (string | number | Uint8Array | null)[]
  getColumnNames(): string[]
  run(values: readonly (string | number | null)[]): void
  free(): boolean
}

export interface SqlDatabase {
  run(sql: string): unknown
  prepare(sql: string): SqlStatement
  iterateStatements(sql: string): { next(): { done?: boolean; value: SqlStatement }; getRemainingSQL(): string }
  create_function(name: string, compute: (...args: never[]) => unknown): unknown
  create_aggregate<S>(
    name: string,
    functions: { init: () => S; step: (state: S, ...args: never[]) => S; finalize: (state: S) => unknown },
  ): unknown
  close(): void
}

export interface SqlModule {
  readonly Database: new () => SqlDatabase
}

export type InitSqlJs = (options: { locateFile: (name: string) => string }) => Promise<SqlModule>
