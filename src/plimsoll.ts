import cluster from 'node:cluster'
import { createHash } from 'node:crypto'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { createChains } from './core/chain.ts'
import type { EventBody, EventSink, PlimsollEvent } from './core/events.ts'
import type { Handle } from './core/handles.ts'
import { CLAUDE_CODE } from './core/identity.ts'
import type { Policy } from './core/policy.ts'
import { artifactAddress } from './drivers/artifacts/address.ts'
import { bundledCatalogue } from './drivers/catalogue/bundled.ts'
import { storeSecret } from './drivers/crypto/tenant-name.ts'
import { artifactsBeside, openArtifacts } from './drivers/open-artifacts.ts'
import { openStore } from './drivers/open-store.ts'
import { createTokenizers } from './drivers/tokenizers/index.ts'
import { openSummarizer, type SummarizerChoice } from './drivers/open-summarizer.ts'
import { createTokenizerById } from './drivers/tokenizers/by-id.ts'
import { designMeter } from './drivers/tokenizers/designs/design-meter.ts'
import type { EngineDeps } from './engine/deps.ts'
import type { Hooks } from './engine/hooks.ts'
import { storedCalibration } from './engine/learn.ts'
import { presentText } from './engine/present.ts'
import { policyNamed } from './engine/policies/index.ts'
import { plimsoll as plimsollPolicy } from './engine/policies/plimsoll.ts'
import { learnedLimits } from './engine/learned-limits.ts'
import { artifactReaders, type ArtifactReaders } from './engine/readers/index.ts'
import { readerProvenance } from './engine/readers/provenance.ts'
import { createRecentBodies } from './engine/recent-bodies.ts'
import { redactingDeps } from './engine/redaction/borders.ts'
import { createRedactor, type RedactionOptions } from './engine/redaction/redactor.ts'
import { createSession, type Session, type SessionOptions } from './engine/session.ts'
import { importStore, type ImportReport } from './engine/store-import.ts'
import { codecs } from './formats/registry.ts'
import { createBudgets, createCalibration, createMeter, limitOf, type Budget } from './meter/index.ts'
import type { ArtifactStat, ArtifactStore, ByteRange } from './ports/artifact-store.ts'
import type { Catalogue } from './ports/catalogue.ts'
import { systemClock, type Clock } from './ports/clock.ts'
import type { SessionStore } from './ports/session-store.ts'
import { createFetch, type Fetch } from './surfaces/gateway/fetch.ts'
import { createGateway, type Gateway } from './surfaces/gateway/gateway.ts'
import { hiddenSteps } from './surfaces/gateway/hidden/steps.ts'
import { createLedger, type Ledger } from './surfaces/gateway/ledger.ts'
import { createSidecar, type Sidecar } from './surfaces/gateway/sidecar.ts'
import { responseSessions } from './surfaces/gateway/response-sessions.ts'

export interface PlimsollOptions {
  /** A preset's name or a policy of your own. @default 'plimsoll' */
  readonly policy?: string | Policy
  /** A driver or a URL: `memory:`, `sqlite:./plimsoll.db`. @default a file in the home directory */
  readonly store?: string | SessionStore
  /** A driver or a URL: `memory:`, `file:./artifacts`. @default beside the store */
  readonly artifacts?: string | ArtifactStore
  /** Keys handles and tenants. @default PLIMSOLL_SECRET, else one that the store keeps */
  readonly secret?: Uint8Array
  /** Overrides the model's window, in tokens. */
  readonly window?: number
  /** Limits on spending; over one, a closing answer and then none. */
  readonly budgets?: readonly Budget[]
  /** By agent name, what differs from the rest. */
  readonly agents?: Readonly<Record<string, AgentOptions>>
  /** Writes summaries: a driver, a function from prompt to text, or `mechanical` for none. @default 'mechanical' */
  readonly summarizer?: SummarizerChoice
  /** Code of yours at the engine's decisions: after a tool result, before and after an epoch, at each verdict. */
  readonly hooks?: Hooks
  /** Ends each request with a line that tells the model how full its window is; the cached prefix stays as it is. @default false */
  readonly contextNotice?: boolean
  /**
   * Sets cache marks on wires that have them (Anthropic) where the client set none. Off, an untouched request leaves as the bytes
   * that came in. @default false
   */
  readonly cacheMarks?: boolean
  /**
   * Takes secrets out of archive, artifacts and summaries, by value from the environment and by form. What is stored is then no longer
   * byte-exact where a secret stood. @default false
   */
  readonly redact?: boolean | RedactionOptions
  /** Counts with the model's own vocabulary where one is installed: exact, at the price of loading it. @default false */
  readonly exactTokens?: boolean
  readonly catalogue?: Catalogue
  readonly clock?: Clock
  readonly onEvent?: EventSink
  /** Requests of agents with tools get `recall` and the readers of artifacts, answered by the gateway. @default true */
  readonly tools?: boolean
  /** Reports what it would do and changes nothing. @default false */
  readonly observe?: boolean
  /** Largest request body that the gateway takes, unpacked. @default 64 MiB */
  readonly maxBodyBytes?: number
  /** What `plimsoll.fetch` calls. @default the global fetch */
  readonly fetch?: Fetch
}

/** What may change while requests are under way. Stores, secret and clock may not. */
export type LiveOptions = Pick<PlimsollOptions, 'policy' | 'agents' | 'window' | 'tools' | 'observe' | 'maxBodyBytes'>

export interface AgentOptions {
  readonly policy?: string | Policy
  /** Where a request's target names none. */
  readonly window?: number
}

export interface Plimsoll {
  /** For any SDK that takes a `fetch`. */
  readonly fetch: Fetch
  /** The three verbs, for an agent loop of your own. */
  session(options: SessionOptions): Session
  /** Reads what `session.export()` wrote. A session that is there already gets only what it lacks. */
  importSession(lines: AsyncIterable<string> | Iterable<string>, options?: { tenant?: string }): Promise<ImportReport>
  readonly artifacts: {
    /** Exact bytes back. Undefined when there is no such artifact of this tenant. */
    read(handle: Handle, options?: { tenant?: string; range?: ByteRange }): Promise<Uint8Array | undefined>
    stat(handle: Handle, options?: { tenant?: string }): Promise<ArtifactStat | undefined>
  }
  /** The handler behind `fetch` and the proxy. */
  readonly gateway: Gateway
  /** The same engine behind the contract by which other gateways call a compressor. */
  readonly sidecar: Sidecar
  /** Sessions of this process, summed up from their events. */
  readonly ledger: Ledger
  /**
   * Other settings for the requests to come; what is left out is as if it had never been set. Requests under way end as they began, and
   * sessions go on from their log.
   */
  reconfigure(options: LiveOptions): void
  /** Whether the store answers. */
  isReady(): Promise<boolean>
  on(listener: EventSink): () => void
  close(): Promise<void>
}

/** Settings of the whole installation live under a tenant that no credential can hash to. */
const SYSTEM_TENANT = 'plimsoll'
const MAX_OPEN_SESSIONS = 1_000
const hash = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 40)

/** Composes the parts. Nothing is opened before it is needed; `close` lets everything go. */
export function createPlimsoll(options: PlimsollOptions = {}): Plimsoll {
  const clock = options.clock ?? systemClock
  const storeUrl = typeof options.store === 'string' ? options.store : `sqlite:${join(plimsollHome(), 'plimsoll.db')}`
  const sessions = typeof options.store === 'object' ? options.store : openStore(storeUrl, { clock })
  const listeners = new Set<EventSink>(options.onEvent === undefined ? [] : [options.onEvent])
  const emit = (event: PlimsollEvent): void => listeners.forEach((listener) => listener(event))

  let live: LiveOptions = options
  const chain = createChains(hash, CLAUDE_CODE)
  const bodies = createRecentBodies()
  const secret = once(() => findSecret(options.secret, sessions))
  const deps = once(async (): Promise<EngineDeps> => {
    const key = await secret()
    const url =
      typeof options.artifacts === 'string'
        ? options.artifacts
        : artifactsBeside(typeof options.store === 'object' ? 'memory:' : storeUrl)
    const catalogue = options.catalogue ?? bundledCatalogue()
    const note = (body: EventBody): void => emit({ ...body, at: clock.now(), tenant: SYSTEM_TENANT, session: '' })
    // Ratios only: without the store the meter begins with its own.
    const state = await storedCalibration(sessions).catch(() => undefined)
    const calibration = createCalibration({ onEvent: note, ...(state !== undefined && { state }) })
    const tokenizers = options.exactTokens === true ? createTokenizers({ onEvent: note }) : undefined
    const meter = createMeter({
      catalogue,
      calibration,
      onEvent: note,
      ...(tokenizers !== undefined && { tokenizerFor: tokenizers.get }),
    })
    const summarizer = openSummarizer(options.summarizer)
    const all: EngineDeps = {
      ...(tokenizers !== undefined && {
        loadTokenizer: async (model: string) => void (await tokenizers.load(meter.familyOf(model))),
      }),
      ...(summarizer !== undefined && { summarizer }),
      ...(options.hooks !== undefined && { hooks: options.hooks }),
      ...(options.contextNotice !== undefined && { contextNotice: options.contextNotice }),
      ...(options.cacheMarks !== undefined && { cacheMarks: options.cacheMarks }),
      codecs,
      calibration,
      ...(options.budgets !== undefined && { budgets: createBudgets(options.budgets, note) }),
      meter: {
        ...meter,
        limitOf: (target, settings, buffer) =>
          limitOf(target, settings, buffer, catalogue, {
            ...(target.learned?.window !== undefined && { learnedWindow: target.learned.window }),
            ...(target.learned?.bodyBytes !== undefined && { bodyBytes: target.learned.bodyBytes }),
          }),
      },
      catalogue,
      sessions,
      artifacts: typeof options.artifacts === 'object' ? options.artifacts : openArtifacts(url, { secret: key, clock }),
      addressOf: artifactAddress(key),
      present: presentText,
      clock,
      hash,
      chain,
      bodies,
      emit,
      policy: plimsollPolicy,
    }
    const { redact = false } = options
    return redact === false ? all : redactingDeps(all, createRedactor(redact === true ? {} : redact))
  })

  const tokenizerOf = createTokenizerById()
  const emitBudget = (body: EventBody): void => emit({ ...body, at: clock.now(), tenant: SYSTEM_TENANT, session: '' })
  const under = (policy: Policy, window?: number) => async (): Promise<EngineDeps> => {
    const all = withWindow(await deps(), window)
    const { estimator, asDesigned = false, tokenBudget } = policy
    const own: Budget | undefined =
      tokenBudget === undefined
        ? undefined
        : {
            name: `${policy.name} session tokens`,
            scope: 'session',
            unit: 'tokens',
            hard: tokenBudget,
            enforce: 'settled',
          }
    const budgets = own === undefined ? all.budgets : createBudgets([...(options.budgets ?? []), own], emitBudget)
    const common = { ...all, policy, ...(budgets !== undefined && { budgets }) }
    if (estimator === undefined) return common
    const meter = { ...all.meter, ...designMeter(all.meter, estimator, { tokenizerOf, asDesigned }) }
    return { ...common, meter }
  }
  const policyOf = (given: string | Policy | undefined): Policy =>
    typeof given === 'object' ? given : policyNamed(given ?? 'plimsoll')
  const policyFor = (agent: string): Policy => policyOf(live.agents?.[agent]?.policy ?? live.policy)
  const open = new Map<string, Session>()
  const session = (wanted: SessionOptions, policy?: string, keep = true): Session => {
    const key = JSON.stringify([wanted.tenant ?? 'local', wanted.id, wanted.agent ?? 'main', policy ?? ''])
    const chosen = (): Policy => (policy === undefined ? policyFor(wanted.agent ?? 'main') : policyNamed(policy))
    const found =
      open.get(key) ??
      createSession(once(under(chosen(), live.agents?.[wanted.agent ?? 'main']?.window ?? live.window)), wanted)
    if (!keep) return found
    // Least recently used goes first; a session that comes back is rebuilt from its log with the same bytes.
    open.delete(key)
    open.set(key, found)
    if (open.size > MAX_OPEN_SESSIONS) open.delete(open.keys().next().value!)
    return found
  }
  const readersOf = async (tenant: string): Promise<ArtifactReaders> =>
    artifactReaders({
      store: (await deps()).artifacts,
      tenant,
      provenance: readerProvenance(await secret()),
      clock,
    })
  const ledger = createLedger()
  listeners.add((event) => ledger.take(event))
  const gateway = createGateway({
    secret,
    codecs,
    chain,
    bodies,
    session: (wanted, policy) => session(wanted, policy),
    glance: (wanted, policy) => session(wanted, policy, false),
    learned: learnedLimits(sessions, clock),
    responses: responseSessions(sessions),
    ledger,
    clock,
    emit,
    hidden: { steps: hiddenSteps(sessions), tools: { sessions, readers: readersOf } },
    isShared: cluster.isWorker || sessions.name === 'postgres',
    settings: () => live,
  })
  return {
    fetch: createFetch(gateway, options.fetch ?? ((input, init) => globalThis.fetch(input, init))),
    session: (wanted) => session(wanted),
    importSession: async (lines, { tenant = 'local' } = {}) =>
      importStore(sessions, lines, { tenant, artifacts: (await deps()).artifacts }),
    gateway,
    sidecar: createSidecar({
      secret,
      session: (wanted) => session(wanted),
      read: async (tenant, handle) => (await deps()).artifacts.read(tenant, handle),
      values: sessions,
      window: () => live.window,
    }),
    ledger,
    reconfigure(next) {
      live = next
      // Each is rebuilt from its log under the new settings; whoever is at work keeps the one it has.
      open.clear()
    },
    isReady: async () => (await secret()).length > 0 && (await sessions.version(SYSTEM_TENANT, 'ready')) >= 0,
    artifacts: {
      read: async (handle, { tenant = 'local', range } = {}) => (await deps()).artifacts.read(tenant, handle, range),
      stat: async (handle, { tenant = 'local' } = {}) => (await deps()).artifacts.stat(tenant, handle),
    },
    on(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    async close() {
      open.clear()
      if (deps.started()) await (await deps()).artifacts.close()
      await sessions.close()
    },
  }
}

/** An agent's own window, for targets that name none. */
function withWindow(deps: EngineDeps, window: number | undefined): EngineDeps {
  if (window === undefined) return deps
  const { meter } = deps
  return { ...deps, meter: { ...meter, limitOf: (target, ...rest) => meter.limitOf({ window, ...target }, ...rest) } }
}

export const plimsollHome = (): string => process.env['PLIMSOLL_HOME'] ?? join(homedir(), '.plimsoll')

/** The key of handles and tenants: as given, else PLIMSOLL_SECRET, else the one that the store keeps (and exports). */
export async function findSecret(given: Uint8Array | undefined, store: SessionStore): Promise<Uint8Array> {
  if (given !== undefined) return given
  const fromEnvironment = process.env['PLIMSOLL_SECRET']
  if (fromEnvironment !== undefined && fromEnvironment !== '')
    return createHash('sha256').update(fromEnvironment).digest()
  return storeSecret(store)
}

/** Runs at the first call; a failure is not remembered, so that the next call tries again. */
function once<T>(make: () => Promise<T>): (() => Promise<T>) & { started(): boolean } {
  let made: Promise<T> | undefined
  const get = (): Promise<T> => {
    made ??= make().catch((error: unknown) => {
      made = undefined
      throw error
    })
    return made
  }
  return Object.assign(get, { started: () => made !== undefined })
}
