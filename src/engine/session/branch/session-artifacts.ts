import type { Handle } from '../../../core/handles.ts'

/** Artifacts that the store knows as this session's because this process told it. */
export class SessionArtifacts {
  readonly #referenced = new Set<Handle>()
  #writes = 0

  has(handle: Handle): boolean {
    return this.#referenced.has(handle)
  }

  referenced(handles: Iterable<Handle>): void {
    for (const handle of handles) this.#referenced.add(handle)
  }

  /** Counts an artifact that is being written: how many were before it. */
  countWrite(): number {
    return this.#writes++
  }
}
