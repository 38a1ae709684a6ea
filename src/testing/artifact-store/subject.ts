import assert from 'node:assert/strict'
import { isPlimsollError, type ErrorCode } from '../../core/errors.ts'
import type { ArtifactStore } from '../../ports/artifact-store.ts'
import type { Clock } from '../../ports/clock.ts'

export interface ArtifactStoreSetup {
  /** Stores made with the same space see the same data, as two processes would; another space starts empty. */
  readonly space: string
  readonly clock: Clock
  /** Bytes a tenant may hold, when the case is about that. */
  readonly quotaBytes?: number
}

export type MakeArtifactStore = (setup: ArtifactStoreSetup) => ArtifactStore | Promise<ArtifactStore>

export interface ArtifactStoreCase {
  readonly name: string
  readonly run: (makeStore: MakeArtifactStore) => Promise<void>
}

export type Body = (store: ArtifactStore, clock: TestClock, again: () => Promise<ArtifactStore>) => Promise<void>

export interface TestClock extends Clock {
  advance(ms: number): void
}

export const SECOND = 1000
export const QUOTA_BYTES = 1000

let spaces = 0

export function caseOf(name: string, body: Body, quotaBytes?: number): ArtifactStoreCase {
  return {
    name,
    async run(makeStore) {
      let now = Date.UTC(2026, 0, 2, 3, 4, 5)
      const clock: TestClock = { now: () => now, advance: (ms) => void (now += ms) }
      const space = `artifact-suite-${process.pid}-${spaces++}`
      const open = async (): Promise<ArtifactStore> =>
        makeStore(quotaBytes === undefined ? { space, clock } : { space, clock, quotaBytes })
      const store = await open()
      try {
        await body(store, clock, open)
      } finally {
        await store.close()
      }
    },
  }
}

export async function putMany(store: ArtifactStore, clock: TestClock, count: number): Promise<string[]> {
  const handles: string[] = []
  for (let i = 0; i < count; i++) {
    clock.advance(SECOND)
    handles.push((await store.put('a', text(`artifact ${i}`))).handle)
  }
  return handles
}

/** Drivers may answer with a Buffer or a plain array; the bytes are what counts. */
export async function assertReads(
  store: ArtifactStore,
  tenant: string,
  handle: string,
  bytes: Uint8Array,
  message?: string,
): Promise<void> {
  assert.deepEqual(Buffer.from(present(await store.read(tenant, handle))), Buffer.from(bytes), message)
}

export async function rejectsWith(code: ErrorCode, promise: Promise<unknown>): Promise<void> {
  await assert.rejects(
    promise,
    (error) => isPlimsollError(error, code) || assert.fail(`expected ${code}, got ${String(error)}`),
  )
}

export function present<T>(value: T | undefined): T {
  assert.notEqual(value, undefined)
  return value as T
}

export const text = (content: string): Uint8Array => new TextEncoder().encode(content)
export const everyByte = (): Uint8Array => Uint8Array.from({ length: 256 }, (_, i) => i)

/** The same for the same length in every run: a failure can be looked at again. */
export function randomBytes(length: number): Uint8Array {
  let state = length + 1
  return Uint8Array.from({ length }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state >>> 24
  })
}
