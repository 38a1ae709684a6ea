import type { Handle } from '../../core/handles.ts'
import type {
  CalibrationSeed,
  Epoch,
  FirstSendEdit,
  LogRecord,
  RequestSent,
  UsageSeen,
  ItemSeen,
} from '../../core/records.ts'
import type { Limit } from '../../core/target.ts'
import { BoundedMap } from '../../util/bounded-map.ts'
import type { Writable } from '../../util/writable.ts'
import {
  callOf,
  createCalibration,
  createLedger,
  isKnownUsage,
  type Calibration,
  type CalibrationState,
  type Ledger,
} from '../../meter/index.ts'
import { cutEvidence, type CountedPrompt, teach, type Measured } from '../learning/calibrations.ts'
import type { EngineDeps } from '../deps.ts'

/** What a session's log says, as one agent of it reads it. */
export interface BranchLog {
  /** Version of the log that this reflects. */
  readonly version: number
  /** Every call of the session, of all its agents. */
  readonly calls: Pick<Ledger, 'totals' | 'lastTurn' | 'report'>
  /** Chain hashes of every item, as it was first seen. */
  readonly sent: ReadonlySet<string>
  readonly archived: Pick<ArchivedForms, 'has' | 'holds'>
  /** Ids of epochs, keys of first-send edits and the artifacts that these name. */
  readonly epochs: ReadonlySet<string>
  readonly editKeys: ReadonlySet<string>
  readonly editHandles: ReadonlySet<Handle>
  /** The newest first-send edits, for the time when the store cannot be asked. */
  readonly edits: ReadonlyMap<string, FirstSendEdit>
  readonly pins: ReadonlySet<string>
  /** Epochs that were taken back; the next one gets another id. */
  readonly undone: ReadonlySet<string>
  /** Epochs and undos of this agent so far: whoever remembers what stood remembers this number with it. */
  readonly decisions: number
  /** A result found no room in the window; where a policy says so, no further tool is run. */
  readonly toolBudgetExceeded: boolean
  /** The largest limit under which that happened. */
  readonly toolBudgetLimit: number
  /** Views that `toolResult` gave out, by hash → the artifacts that they were made from. */
  readonly views: ReadonlyMap<string, readonly Handle[]>
  /** Turns that this agent has opened, by the highest number in their ids. */
  readonly turns: number
  readonly lastCall: { readonly model: string; readonly limit?: Limit } | undefined
  /** The last answer was served from the prompt cache in part. */
  readonly cacheIsWarm: boolean
  readonly measured: Measured | undefined
  /** A request of this session could only be decided by the exact vocabulary; since then all of them are counted with it. */
  readonly isExact: boolean
  /** Requests of this agent that were handed out and not refused, by the chain hash that they ended with. */
  readonly handedOut: ReadonlyMap<string, HandedOut>
  /** Everybody who was ever asked: one or two, however long the session. */
  readonly issuers: readonly Issuer[]
  /** What the last answer counted, to tell a server that cuts prompts from one that counts in its own way. */
  readonly counted: CountedPrompt | undefined
  /** Tokens of what answers of this session sealed, by seal. */
  readonly sealedTokens: ReadonlyMap<string, number>
  /** Learned from this agent's own calls, so that every process that reads the log counts alike. */
  readonly calibration: Calibration | undefined
  /** What the calibration began with, until the next write takes it along. */
  readonly seed: CalibrationSeed | undefined

  /** Takes in the next record. What it says about the epoch that stands is handed back. */
  absorb(record: LogRecord): EpochChange | undefined
  reached(version: number): void
  /** Begins to learn from here on, unless the log has said from where. */
  begin(seed: CalibrationSeed): void
}

export type EpochChange = { readonly stands: Epoch } | { readonly undone: string }

/** Who answered a request: only that provider can read what it sealed. */
export interface Issuer {
  readonly model: string
  readonly endpoint?: string | undefined
}

/** How a request was sent, as far as we know. */
export interface HandedOut extends Issuer {
  /** The epoch that stood. */
  readonly epoch: string | undefined
  /** What fitted then. */
  readonly limitTokens: number | undefined
  /** It was made a closing turn. */
  readonly isClosing: boolean
  readonly isAnswered: boolean
}

const MOST_VIEWS = 1_000
/** A session that goes on for longer has left its first thoughts behind. */
const MOST_SEALS = 10_000
/** Characters of first-send edits that are kept for the time when nobody can be asked for them. */
const MOST_EDIT_CHARACTERS = 1024 * 1024

/** Empty; `restore.ts` fills it. `formOf` is what the bytes of an item are known by. */
export function branchLog({ tenant, session, agent }: LogOwner, formOf: (fragment: string) => string): BranchLog {
  const calls = createLedger({ keep: 0 })
  const sent = new Set<string>()
  const archived = new ArchivedForms()
  const epochs = new Set<string>()
  const editKeys = new Set<string>()
  const editHandles = new Set<Handle>()
  const edits = new BoundedMap<string, FirstSendEdit>(MOST_EDIT_CHARACTERS)
  const pins = new Set<string>()
  const undone = new Set<string>()
  const views = new BoundedMap<string, readonly Handle[]>(MOST_VIEWS)
  const handedOut = new Map<string, HandedOut>()
  const issuers: Issuer[] = []
  const sealedTokens = new BoundedMap<string, number>(MOST_SEALS)

  function absorb(record: LogRecord): EpochChange | undefined {
    takeShared(record)
    // What agents of a session have seen and decided is their own.
    if ((record.agent ?? agent) !== agent) return undefined
    return takeOwn(record)
  }

  function takeShared(record: LogRecord): void {
    if (record.type === 'audit') {
      // A view that comes back in a request is known for one in every process that reads the log.
      if (record.view !== undefined && record.handle !== undefined) views.set(record.view, [record.handle])
    } else if (record.type === 'edit') {
      editKeys.add(record.key)
      editHandles.add(record.handle)
      if (!edits.has(record.key)) edits.set(record.key, record, record.text.length)
    } else if (record.type === 'epoch') epochs.add(record.id)
    else if (record.type === 'usage') {
      if (record.hidden !== undefined)
        for (const [seal, tokens] of Object.entries(record.hidden)) sealedTokens.set(seal, tokens)
      calls.record(callOf(tenant, session, record))
    }
  }

  function takeOwn(record: LogRecord): EpochChange | undefined {
    if (record.type === 'item-seen') {
      archived.add(record.identity, formIn(record) ?? formOf(record.fragment))
      if (record.chain !== '') sent.add(record.chain)
    } else if (record.type === 'pin') {
      if (record.pinned) pins.add(record.identity)
      else pins.delete(record.identity)
    } else if ((record.type === 'audit' || record.type === 'edit') && record.cause === 'window') {
      log.toolBudgetExceeded = true
      log.toolBudgetLimit = Math.max(
        log.toolBudgetLimit,
        (record.type === 'edit' ? record.limit : undefined) ?? Infinity,
      )
    } else if (record.type === 'request-sent') takeSent(record)
    else if (record.type === 'calibration') takeSeed(record)
    else if (record.type === 'usage') takeUsage(record)
    if (record.type !== 'epoch' && record.type !== 'undo') return undefined
    log.decisions++
    if (record.type === 'epoch') return { stands: record }
    undone.add(record.epoch)
    return { undone: record.epoch }
  }

  /** An answer says more than what was handed out, before it or after. */
  function takeSent({ chain, model, endpoint, epoch, limit, closing, refused }: RequestSent): void {
    if (handedOut.get(chain)?.isAnswered === true) return
    if (refused === true) handedOut.delete(chain)
    else handOut(chain, { model, endpoint, epoch, limitTokens: limit, isClosing: closing === true, isAnswered: false })
  }

  function handOut(chain: string, sent: HandedOut): void {
    handedOut.set(chain, sent)
    const { model, endpoint } = sent
    if (!issuers.some((issuer) => issuer.model === model && issuer.endpoint === endpoint)) issuers.push(sent)
  }

  /** The first one in the log counts, whoever wrote it; ours may have been waiting when another process was faster. */
  function takeSeed(record: CalibrationSeed): void {
    if (log.calibration !== undefined && log.seed === undefined) return
    log.calibration = calibrationFrom(record)
    log.seed = undefined
  }

  function takeUsage(record: UsageSeen): void {
    if (record.purpose !== 'turn') return
    if (log.calibration !== undefined) teach(log.calibration, log.measured, record)
    log.turns = Math.max(log.turns, Number(record.turn.split('-')[1] ?? 0))
    const limit = record.limit ?? log.lastCall?.limit
    const { model, usage, measured, epoch, endpoint } = record
    log.lastCall = limit === undefined ? { model } : { model, limit }
    if (measured !== undefined) {
      const limitTokens = record.limit?.tokens
      handOut(measured.chain, {
        model,
        endpoint,
        epoch,
        limitTokens,
        isClosing: record.closing === true,
        isAnswered: true,
      })
    }
    if (measured?.exact === true) log.isExact = true
    if (isKnownUsage(usage)) log.counted = cutEvidence(log.counted, { usage, estimated: record.estimated, epoch }).seen
    // What was measured before has less in common with the next request than our own count of it.
    if (record.cut === true || record.compacted === true) log.measured = undefined
    // Some servers report zeros for what they did not count; as a measurement that would be an empty window.
    if (!isKnownUsage(usage) || measured === undefined) return
    log.cacheIsWarm = usage.cacheRead > 0
    const { chain, items, standing, byClass, exact, partial, chained, suspect } = measured
    const last: Writable<Measured> = {
      at: record.at,
      model,
      chain,
      items,
      standing,
      byClass,
      prompt: usage.input,
      output: usage.output,
      reasoning: usage.reasoning,
      rawTokens: record.estimated,
    }
    if (endpoint !== undefined) last.endpoint = endpoint
    if (epoch !== undefined) last.epoch = epoch
    if (exact !== undefined) last.exact = exact
    if (partial !== undefined) last.partial = partial
    if (chained !== undefined) last.chained = chained
    if (suspect !== undefined) last.suspect = suspect
    log.measured = last
  }

  const log: Writable<BranchLog> = {
    version: 0,
    calls,
    sent,
    archived,
    epochs,
    editKeys,
    editHandles,
    edits,
    pins,
    undone,
    decisions: 0,
    toolBudgetExceeded: false,
    toolBudgetLimit: 0,
    views,
    turns: 0,
    lastCall: undefined,
    cacheIsWarm: false,
    measured: undefined,
    isExact: false,
    handedOut,
    issuers,
    counted: undefined,
    sealedTokens,
    calibration: undefined,
    seed: undefined,
    absorb,
    reached(version) {
      log.version = version
    },
    begin(seed) {
      if (log.calibration !== undefined) return
      log.seed = seed
      log.calibration = calibrationFrom(seed)
    },
  }
  return log
}

interface LogOwner {
  readonly tenant: string
  readonly session: string
  readonly agent: string
}

const calibrationFrom = ({ state }: CalibrationSeed): Calibration =>
  createCalibration({ state: state as CalibrationState })

/**
 * Which items the archive holds, and in which forms. An item that comes back as a block instead of a string, with a cache mark or with
 * white space around it is the same item to the engine, and other bytes to whoever wants them back.
 */
export class ArchivedForms {
  /** Nearly every item has one form, and a set for each would take more room than all else that is known of it. */
  readonly #forms = new Map<string, string | Set<string>>()

  /** Some form of this identity. */
  has(identity: string): boolean {
    return this.#forms.has(identity)
  }

  /** `form`: hash of the item's bytes. */
  holds(identity: string, form: string): boolean {
    const known = this.#forms.get(identity)
    return typeof known === 'object' ? known.has(form) : known === form
  }

  add(identity: string, form: string): void {
    const known = this.#forms.get(identity)
    if (known === undefined) this.#forms.set(identity, form)
    else if (typeof known === 'object') known.add(form)
    else if (known !== form) this.#forms.set(identity, new Set([known, form]))
  }
}

/** What a form is known by: its bytes as the archive holds them. */
export const formOf = ({ hash, redact }: Pick<EngineDeps, 'hash' | 'redact'>, fragment: string): string =>
  hash(redact?.(fragment) ?? fragment)

/** Forms of records that this process has just made: nobody has to hash their bytes again to take them in. */
const made = new WeakMap<ItemSeen, string>()

export const noteForm = (record: ItemSeen, form: string): void => void made.set(record, form)
const formIn = (record: ItemSeen): string | undefined => made.get(record)
