/** Records of one artifact, to be queried as a table. */
export interface SqlSource {
  /** Name of the table: letters, digits and underscores. */
  readonly table: string
  readonly bytes: Uint8Array
  /** The path to the array of records in a JSON object. @default the root, or the largest array of objects near it */
  readonly path?: readonly string[]
}

export interface SqlRequest {
  readonly sql: string
  readonly sources: readonly SqlSource[]
  readonly timeoutMs: number
  /** Whose request it is: owners are served in turn. @default all are one */
  readonly owner?: string
  readonly maxRows: number
  /** Stops the query; `query` rejects with the signal's reason. */
  readonly signal?: AbortSignal
}

export type SqlValue = string | number | null

export interface SqlTable {
  readonly table: string
  /** `json`, `ndjson`, `csv`, `tsv` or `lines`. */
  readonly format: string
  /** Where the records were found, when not at the root. */
  readonly path?: string
  readonly rows: number
  readonly columns: readonly { readonly name: string; readonly type: string }[]
}

export interface SqlResult {
  readonly ok: boolean
  readonly columns: readonly string[]
  readonly rows: readonly (readonly SqlValue[])[]
  /** Rows of the whole result, including those beyond `maxRows`. */
  readonly totalRows: number
  readonly tables: readonly SqlTable[]
  readonly error?: string
}

/**
 * Answers a read-only query over records. Promises: no files, no network, nothing that a query wrote is kept; time and memory limits hold; never
 * throws for errors in the query.
 */
export interface SqlEngine {
  readonly name: string
  query(request: SqlRequest): Promise<SqlResult>
  close(): Promise<void>
}
