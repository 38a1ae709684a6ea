export interface SandboxRequest {
  /** JavaScript written by the model. It sees `data` and `artifacts`, and nothing of the host. */
  readonly code: string
  readonly inputs: Readonly<Record<string, Uint8Array>>
  readonly timeoutMs: number
  /** Whose request it is: owners are served in turn. @default all are one */
  readonly owner?: string
  readonly memoryBytes: number
  readonly maxOutputBytes: number
  /** Stops the code; `run` rejects with the signal's reason. */
  readonly signal?: AbortSignal
}

export interface SandboxResult {
  readonly ok: boolean
  /** What the code returned or printed, cut at `maxOutputBytes`. */
  readonly output: string
  readonly error?: string
  readonly truncated: boolean
}

/** Runs untrusted code. Promises: no files, no network, no host objects; time and memory limits hold; never throws for errors of the code. */
export interface Sandbox {
  readonly name: string
  run(request: SandboxRequest): Promise<SandboxResult>
  close(): Promise<void>
}
