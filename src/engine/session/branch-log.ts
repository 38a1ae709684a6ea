import type { Handle } from '../../core/handles.ts'
import type { CalibrationSeed, Epoch, FirstSendEdit, LogRecord, RequestSent, UsageSeen } from '../../core/records.ts'
import type { Limit } from '../../core/target.ts'
import {
  callOf,
  createCalibration,
  createLedger,
  isKnownUsage,
  type Calibration,
  type CalibrationState,
} from '../../meter/index.ts'
import { BoundedMap, jointKey } from '../../util/bounded-map.ts'
import type { EngineDeps } from '../deps.ts'
import { cutEvidence, type CountedPrompt, teach, type Measured } from '../learning/calibrations.ts'

/** Who answered a request: only that provider can read what it sealed. */
export interface Issuer {
  readonly model: string
  readonly endpoint?: string | undefined
}

export interface HandedOut extends Issuer {
  /** The epoch that the request was sent under. */
  readonly epoch: string | undefined
  /** The limit at that time. */
  readonly limitTokens: number | undefined
  /** The request had no tools and asked for a final answer. */
  readonly isClosing: boolean
  readonly isAnswered: boolean
}

const MOST_VIEWS = 1_000
const MOST_ISSUERS = 16
const MOST_OUTPUTS = 64
/** Encrypted items of a longer session have been compacted away. */
const MOST_SEALS = 10_000
/** Characters of first-send edits that are kept in memory in case the store is unreachable. */
const MOST_EDIT_CHARACTERS = 1024 * 1024

/** What a person asks of a reduction: the next request declares an epoch, needed or not. */
export interface CompactRequest {
  /** What the summary should hold; it goes to the model that writes it, and stays in view. */
  readonly instructions?: string
  /** It stands in the log, and so does what comes of it. */
  readonly isLogged?: boolean
}

interface LogOwner {
  readonly tenant: string
  readonly session: string
  readonly agent: string
}

/** What a session's log says, as one agent of it reads it, and what was decided since. Empty at first; `log.ts` fills it. */
class Log {
  /** The version of the log up to which entries were read. */
  version = 0
  /** The calls of all agents of the session. */
  readonly calls = createLedger({ keep: 0 })
  /** Chain hashes of all items that were sent. */
  readonly sent = new Set<string>()
  /**
   * Identities of archived items, and the `formKey` of each of their forms: the same item may come back as a block instead of a string, with a cache
   * mark or with other white space, and a reader wants those bytes back too.
   */
  readonly archived = new Set<string>()
  /** Ids of epochs, keys of first-send edits and the artifacts that those edits name. */
  readonly epochs = new Set<string>()
  readonly editKeys = new Set<string>()
  readonly editHandles = new Set<Handle>()
  /** The newest first-send edits, in case the store is unreachable. */
  readonly edits = new BoundedMap<string, FirstSendEdit>(MOST_EDIT_CHARACTERS)
  readonly pins = new Set<string>()
  /** The epoch that requests stand under, as far as it is known. */
  epoch: Epoch | undefined
  /** A reduction that was asked for and not tried yet, and why the last one came to nothing. */
  wish: CompactRequest | undefined
  refusal: string | undefined
  /** Epochs that were taken back; the next one gets another id. */
  readonly undone = new Set<string>()
  /** Number of epochs and undos of this agent. A remembered standing is valid while this number is unchanged. */
  decisions = 0
  /** A tool result did not fit the window; some policies run no further tool after that. */
  toolBudgetExceeded = false
  /** The largest limit under which a result did not fit. */
  toolBudgetLimit = 0
  /** Hashes of the views that `toolResult` returned → the artifacts that the views show. */
  readonly views = new BoundedMap<string, readonly Handle[]>(MOST_VIEWS)
  /** The highest turn number in the log of this agent. */
  turns = 0
  lastCall: { readonly model: string; readonly limit?: Limit } | undefined
  /** The provider read a part of the last prompt from its cache. */
  cacheIsWarm = false
  measured: Measured | undefined
  /** The last call with usage. */
  lastUsage: UsageSeen | undefined
  /** The same of each model and endpoint: two that share a history each go on from their own. */
  readonly measuredOn = new BoundedMap<string, Measured>(MOST_ISSUERS)
  /** What providers counted in all prompts, beside what we had counted from the text alone. */
  readonly countedOn = new BoundedMap<string, { readonly input: number; readonly estimated: number }>(MOST_ISSUERS)
  /** Output tokens of the newest answers. */
  outputs: readonly number[] = []
  /** True once a request was so close to the limit that only an exact count could decide it. All later requests are counted exactly. */
  isExact = false
  /** Requests of this agent that were sent and not refused, by their last chain hash. */
  readonly handedOut = new Map<string, HandedOut>()
  /** The models and endpoints that this agent used: one or two, however long the session. */
  readonly issuers: Issuer[] = []
  /** The provider's last prompt count, to detect servers that cut prompts. */
  counted: CountedPrompt | undefined
  /** Tokens of encrypted items, by seal. */
  readonly sealedTokens = new BoundedMap<string, number>(MOST_SEALS)
  /** Learned from this agent's calls only, so that every process that reads the log counts alike. */
  calibration: Calibration | undefined
  /** The calibration's first state, until the next append writes it to the log. */
  seed: CalibrationSeed | undefined
  readonly #owner: LogOwner
  readonly #deps: Pick<EngineDeps, 'hash' | 'redact'>

  constructor(owner: LogOwner, deps: Pick<EngineDeps, 'hash' | 'redact'>) {
    this.#owner = owner
    this.#deps = deps
  }

  /** Sets the calibration's first state, unless the log has one. */
  begin(seed: CalibrationSeed): void {
    if (this.calibration !== undefined) return
    this.seed = seed
    this.calibration = calibrationFrom(seed)
  }

  /** An epoch was declared, or found for what the client sends; undefined when what it covers is gone. */
  stand(epoch: Epoch | undefined): void {
    this.epoch = epoch
  }

  ask(request: CompactRequest): void {
    this.wish = request
    this.refusal = undefined
  }

  /** An epoch was tried; `refusal` says why there is none. */
  answer(refusal?: string): void {
    if (this.wish !== undefined) this.refusal = refusal
    this.wish = undefined
  }

  /** Takes in the next record. */
  absorb(record: LogRecord, version: number): void {
    this.version = version
    const { tenant, session, agent } = this.#owner
    if (record.type === 'audit') {
      // A shortened result that comes back in a request is recognised in every process that reads the log.
      if (record.view !== undefined && record.handle !== undefined) this.views.set(record.view, [record.handle])
    } else if (record.type === 'edit') {
      this.editKeys.add(record.key)
      if (record.handle !== undefined) this.editHandles.add(record.handle)
      if (!this.edits.has(record.key)) this.edits.set(record.key, record, record.text.length)
    } else if (record.type === 'epoch') this.epochs.add(record.id)
    else if (record.type === 'usage') {
      for (const [seal, tokens] of Object.entries(record.hidden ?? {})) this.sealedTokens.set(seal, tokens)
      this.calls.record(callOf(tenant, session, record))
    }
    // What agents of a session have seen and decided is their own.
    if ((record.agent ?? agent) !== agent) return
    if (record.type === 'item-seen') {
      this.archived.add(record.identity).add(formKey(this.#deps, record.identity, record.fragment))
      if (record.chain !== '') this.sent.add(record.chain)
    } else if (record.type === 'pin') {
      if (record.pinned) this.pins.add(record.identity)
      else this.pins.delete(record.identity)
    } else if ((record.type === 'audit' || record.type === 'edit') && record.cause === 'window') {
      this.toolBudgetExceeded = true
      const limit = record.type === 'edit' ? record.limit : undefined
      this.toolBudgetLimit = Math.max(this.toolBudgetLimit, limit ?? Infinity)
    } else if (record.type === 'request-sent') this.#takeSent(record)
    else if (record.type === 'calibration') this.#takeSeed(record)
    else if (record.type === 'usage') this.#takeUsage(record)
    else if (record.type === 'compaction-asked' && record.refusal === undefined)
      this.ask({ isLogged: true, instructions: record.instructions })
    else if (record.type === 'compaction-asked') this.answer(record.refusal)
    else if (record.type === 'epoch') {
      this.decisions++
      this.epoch = record
      this.answer()
    } else if (record.type === 'undo') {
      this.decisions++
      this.undone.add(record.epoch)
      if (this.epoch?.id === record.epoch) this.epoch = undefined
    }
  }

  /** An answered request stays: its usage entry says more than the entry about sending it. */
  #takeSent({ chain, model, endpoint, epoch, limit, closing, refused }: RequestSent): void {
    if (this.handedOut.get(chain)?.isAnswered === true) return
    const sent = { model, endpoint, epoch, limitTokens: limit, isClosing: closing === true, isAnswered: false }
    if (refused === true) this.handedOut.delete(chain)
    else this.#handOut(chain, sent)
  }

  #handOut(chain: string, sent: HandedOut): void {
    this.handedOut.set(chain, sent)
    const { model, endpoint } = sent
    if (!this.issuers.some((issuer) => issuer.model === model && issuer.endpoint === endpoint)) this.issuers.push(sent)
  }

  /** The first seed in the log wins. Ours may still be unwritten when another process writes one. */
  #takeSeed(record: CalibrationSeed): void {
    if (this.calibration !== undefined && this.seed === undefined) return
    this.calibration = calibrationFrom(record)
    this.seed = undefined
  }

  #takeUsage(record: UsageSeen): void {
    if (record.purpose !== 'turn') return
    if (this.calibration !== undefined) teach(this.calibration, this.measuredOn.get(issuerKey(record)), record)
    this.turns = Math.max(this.turns, Number(record.turn.split('-')[1] ?? 0))
    const { at, model, endpoint, usage, measured, epoch, estimated, limit } = record
    this.lastCall = { model, limit: limit ?? this.lastCall?.limit }
    if (measured !== undefined) {
      const isClosing = record.closing === true
      this.#handOut(measured.chain, { model, endpoint, epoch, limitTokens: limit?.tokens, isClosing, isAnswered: true })
      if (measured.exact === true) this.isExact = true
    }
    if (isKnownUsage(usage) && usage.output > 0) this.outputs = [...this.outputs.slice(1 - MOST_OUTPUTS), usage.output]
    if (isKnownUsage(usage)) this.counted = cutEvidence(this.counted, { usage, estimated, epoch }).seen
    // An older measurement has less in common with the next request than our own count.
    if (record.cut === true || record.compacted === true) {
      this.measured = undefined
      this.measuredOn.delete(issuerKey(record))
    }
    // Some servers report zeros for what they did not count; a measurement of zero would mean an empty window.
    if (!isKnownUsage(usage) || measured === undefined) return
    this.lastUsage = record
    this.cacheIsWarm = usage.cacheRead > 0
    const { input: prompt, output, reasoning } = usage
    if (prompt > 0 && estimated > 0 && measured.partial !== true) {
      const before = this.countedOn.get(issuerKey(record)) ?? { input: 0, estimated: 0 }
      const sums = { input: before.input + prompt, estimated: before.estimated + estimated }
      this.countedOn.set(issuerKey(record), sums)
    }
    this.measured = { ...measured, at, model, endpoint, epoch, prompt, output, reasoning, rawTokens: estimated }
    this.measuredOn.set(issuerKey(record), this.measured)
  }
}

/** Read-only outside this class. */
export type BranchLog = {
  readonly [K in keyof Log]: Log[K] extends Set<infer V>
    ? ReadonlySet<V>
    : Log[K] extends Map<infer A, infer B>
      ? ReadonlyMap<A, B>
      : Log[K]
}

export const branchLog = (owner: LogOwner, deps: Pick<EngineDeps, 'hash' | 'redact'>): BranchLog => new Log(owner, deps)

export const issuerKey = ({ model, endpoint = '' }: Issuer): string => jointKey(model, endpoint)

const calibrationFrom = ({ state }: CalibrationSeed): Calibration =>
  createCalibration({ state: state as CalibrationState })

/** The key of an item with exactly these bytes, after redaction. */
export const formKey = (
  { hash, redact }: Pick<EngineDeps, 'hash' | 'redact'>,
  identity: string,
  fragment: string,
): string => `${identity} ${hash(redact?.(fragment) ?? fragment)}`
