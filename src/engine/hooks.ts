import { messageOf } from '../core/values.ts'
import type { EventBody } from '../core/events.ts'
import type { Verdict } from '../core/target.ts'
import { deadlineAfter, withDeadline } from '../util/deadline.ts'

/** Where in the work a hook is called. */
export interface HookPlace {
  readonly tenant: string
  readonly session: string
  readonly agent: string
}

export interface ToolResultInfo extends HookPlace {
  /** `tool-result`: the verb. `first-send`: a result inside a request that was shortened before it left. */
  readonly via: 'tool-result' | 'first-send'
  readonly tool?: string
  readonly callId?: string
  readonly text: string
  readonly truncated: boolean
  readonly originalBytes: number
  readonly handle?: string
}

export interface BeforeEpochInfo extends HookPlace {
  readonly model: string
  /** `background`: a summary is about to be written for an epoch to come. */
  readonly cause: 'overflow' | 'high-water' | 'requested' | 'background'
  readonly load: number
  readonly limit: number
  readonly bytes: number
  /** Items that the epoch may touch, by identity. */
  readonly items: readonly { readonly identity: string; readonly kind: string; readonly tokens: number }[]
}

export interface AfterEpochInfo extends HookPlace {
  readonly model: string
  readonly epoch: string
  readonly cause: BeforeEpochInfo['cause']
  readonly before: number
  readonly after: number
  readonly limit: number
  readonly covered: number
}

export interface VerdictInfo extends HookPlace {
  readonly verdict: Verdict
}

type Answer<T> = T | undefined | void | Promise<T | undefined | void>

/**
 * Code of yours at the engine's decisions. A hook gets copies, has `timeoutMs`, and its answer is a wish: it is followed as far as
 * the promises allow. One that throws, hangs or asks for too much costs a `warning` event and nothing else.
 */
export interface Hooks {
  /** The note is shown to the model below the result: at most 2,000 characters, on the verb's path only. */
  afterToolResult?(info: ToolResultInfo): Answer<{ readonly note?: string }>
  /**
   * `preserve`: identities to keep in view as if pinned, up to a quarter of the limit. `defer`: not now; ignored when the request does
   * not fit or a person asked for the epoch. The plan may still find nothing to gain: then no `afterEpoch` follows.
   */
  beforeEpoch?(info: BeforeEpochInfo): Answer<{ readonly preserve?: readonly string[]; readonly defer?: boolean }>
  afterEpoch?(info: AfterEpochInfo): Answer<never>
  /** For every request, whatever the verdict. */
  onVerdict?(info: VerdictInfo): Answer<never>
  /** Time for each call of a hook. @default 1000 */
  readonly timeoutMs?: number
}

export const NOTE_CHARACTERS = 2_000
/** Share of the limit that a hook may preserve. */
export const PRESERVE_SHARE = 0.25
const TIMEOUT_MS = 1_000

type HookName = Exclude<keyof Hooks, 'timeoutMs'>
type HookResult<K extends HookName> = Exclude<Awaited<ReturnType<NonNullable<Hooks[K]>>>, void | undefined>

/** Calls a hook. Undefined when there is none, it had nothing to say, or it failed. */
export async function callHook<K extends HookName>(
  hooks: Hooks | undefined,
  name: K,
  info: Parameters<NonNullable<Hooks[K]>>[0],
  emit: (body: EventBody) => void,
): Promise<HookResult<K> | undefined> {
  const hook = hooks?.[name]
  if (hooks === undefined || hook === undefined) return undefined
  const { timeoutMs = TIMEOUT_MS } = hooks
  const warn = (message: string): void => emit({ type: 'warning', topic: 'hooks', message: `${name} ${message}` })
  const deadline = deadlineAfter(timeoutMs)
  try {
    // The copy keeps a hook from changing what the engine goes on with.
    const work = (hook as (given: unknown) => unknown).call(hooks, structuredClone(info))
    const answer = await withDeadline(Promise.resolve(work), deadline)
    return typeof answer === 'object' && answer !== null ? (answer as HookResult<K>) : undefined
  } catch (error) {
    const failure = `failed: ${messageOf(error)}`
    warn(deadline.aborted ? `took longer than ${timeoutMs} ms and was left behind` : failure)
    return undefined
  }
}
