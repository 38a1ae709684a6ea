import cluster from 'node:cluster'
import { createHmac, randomUUID } from 'node:crypto'
import { artifactFace } from './artifacts-api.ts'
import type { EventBody, EventSink, PlimsollEvent } from '../core/events.ts'
import { CLAUDE_CODE } from '../core/identity.ts'
import type { Policy } from '../core/policy.ts'
import { artifactAddress } from '../drivers/artifacts/address.ts'
import { amendedCatalogue } from '../drivers/catalogue/amended.ts'
import { bundledCatalogue } from '../drivers/catalogue/bundled.ts'
import { artifactsBeside, openArtifacts } from '../drivers/open-artifacts.ts'
import { openStore } from '../drivers/open-store.ts'
import { sha256Text } from '../drivers/crypto/sha256.ts'
import { openSummarizer, type SummarizerChoice } from '../drivers/open-summarizer.ts'
import { createTokenizerById } from '../drivers/tokenizers/by-id.ts'
import { createTokenizers } from '../drivers/tokenizers/index.ts'
import { backgroundWork } from '../engine/session/background-work.ts'
import { createBudgetBook, type BudgetBook } from '../engine/spending/budget-book.ts'
import type { EngineDeps } from '../engine/deps.ts'
import { createToolRegistry } from '../engine/intake/index.ts'
import { calibrationKeeper, storedCalibration, type CalibrationKeeper } from '../engine/session/learn.ts'
import { learnedLimits } from '../engine/session/learned-limits.ts'
import { presenter } from '../engine/tool-results/present.ts'
import { readerProvenance } from '../engine/readers/provenance.ts'
import { createMemo, noMemo } from '../engine/memo/memo.ts'
import { redactingDeps, redactingSummarizer } from '../engine/redaction/borders.ts'
import { createRedactor } from '../engine/redaction/redactor.ts'
import { createSession, type Session, type SessionOptions } from '../engine/session/session.ts'
import { importStore } from '../engine/store-admin/store-import.ts'
import { codecs } from '../formats/registry.ts'
import { defaultStore, findSecret } from './home.ts'
import { createBudgets, createCalibration, createMeter, limitOf, type Budget } from '../meter/index.ts'
import { once } from './once.ts'
import { openSessions } from './open-sessions.ts'
import { tellAll } from './tell-all.ts'
import { openReaders } from './open-readers.ts'
import type { PlimsollOptions, LiveOptions, Plimsoll } from '../options.ts'
import type { Catalogue } from '../ports/catalogue.ts'
import { systemClock } from '../ports/clock.ts'
import type { Summarizer } from '../ports/summarizer.ts'
import { createFetch } from '../surfaces/gateway/fetch.ts'
import { createConversations } from '../surfaces/gateway/conversations/conversations.ts'
import { createGateway } from '../surfaces/gateway/gateway.ts'
import { hiddenSteps } from '../surfaces/gateway/hidden/steps.ts'
import { createLedger } from '../surfaces/gateway/operate/ledger.ts'
import { responseSessions } from '../surfaces/gateway/request/response-sessions.ts'
import { createSidecar } from '../surfaces/gateway/operate/sidecar.ts'
import { sessionTokens, withWindow, withPrices } from './policy-deps.ts'
import { checkPolicies, policyIn } from './named-policies.ts'
import { designNamed } from '../engine/presets/designs.ts'
import { plimsoll as plimsollPolicy } from '../engine/presets/plimsoll/policy.ts'

export { defaultStore, findSecret, plimsollHome } from './home.ts'
export type { LiveOptions, Plimsoll, PlimsollOptions } from '../options.ts'

/** Settings of the whole installation live under a tenant that no credential can hash to. */
const SYSTEM_TENANT = 'plimsoll'
const hash = (text: string): string => sha256Text(text, 'hex').slice(0, 40)

/** Composes the parts. Nothing is opened before it is needed; `close` lets everything go. */
export function createPlimsoll(options: PlimsollOptions = {}): Plimsoll {
  checkPolicies(options)
  const clock = options.clock ?? systemClock
  const storeUrl = typeof options.store === 'string' ? options.store : defaultStore()
  // A shared database counts leases by its own clock unless one was given: the machines around it need not agree.
  const given = options.clock === undefined ? {} : { clock: options.clock }
  const sessions = typeof options.store === 'object' ? options.store : openStore(storeUrl, given)
  const listeners = new Set<EventSink>(options.onEvent === undefined ? [] : [options.onEvent])
  const emit = (event: PlimsollEvent): void => tellAll(listeners, event)
  const note = (body: EventBody): void => emit({ ...body, at: clock.now(), tenant: SYSTEM_TENANT, session: '' })
  const ledger = createLedger({ startedAt: clock.now() })
  listeners.add((event) => ledger.take(event))
  let live: LiveOptions = options
  const openBook = (): BudgetBook =>
    createBudgetBook({
      budgets: createBudgets(live.budgets ?? [], note),
      sessions,
      clock,
      hash,
      holder: randomUUID(),
      onEvent: note,
    })
  let book = openBook()
  const memo = (options.memo === false ? noMemo : createMemo)({ hash, profile: CLAUDE_CODE })
  const background = backgroundWork()
  let keeper: CalibrationKeeper | undefined
  let models: Catalogue | undefined
  const catalogue = (): Catalogue =>
    (models ??= amendedCatalogue(options.catalogue ?? bundledCatalogue(), { overrides: options.models ?? {} }))
  const openModel = (choice: SummarizerChoice | undefined): Summarizer | undefined =>
    openSummarizer(choice, { codecs, windowOf: (model) => catalogue().resolve(model).info.window })
  // Opened here, so that a model that cannot work is an error at the start.
  const summarizer = openModel(options.summarizer)
  const extractionModel = openModel(options.extraction)
  const secret = once(() => findSecret(options.secret, sessions))
  const deps = once(async (): Promise<EngineDeps> => {
    const key = await secret()
    const url =
      typeof options.artifacts === 'string'
        ? options.artifacts
        : artifactsBeside(typeof options.store === 'object' ? 'memory:' : storeUrl)
    // Ratios only: without the store the meter begins with its own.
    const state = await storedCalibration(sessions).catch(() => undefined)
    const calibration = createCalibration({ onEvent: note, ...(state !== undefined && { state }) })
    const kept = calibrationKeeper(sessions, calibration)
    keeper = kept
    const tokenizers = options.exactTokens === false ? undefined : createTokenizers({ onEvent: note })
    const meter = createMeter({
      catalogue: catalogue(),
      prefixes: memo.prefixes,
      calibration,
      onEvent: note,
      ...(tokenizers !== undefined && { tokenizerFor: tokenizers.get }),
    })
    const registry = createToolRegistry(options.toolSummaries)
    const all: EngineDeps = {
      ...(tokenizers !== undefined && {
        sharpen: (model: string) => tokenizers.load(meter.familyOf(model)),
        ...(options.exactTokens === true && {
          loadTokenizer: async (model: string) => void (await tokenizers.load(meter.familyOf(model))),
        }),
      }),
      ...(options.countTokens !== undefined && { countTokens: options.countTokens }),
      ...(summarizer !== undefined && { summarizer }),
      background,
      ...(options.hooks !== undefined && { hooks: options.hooks }),
      ...(options.contextNotice !== undefined && { contextNotice: options.contextNotice }),
      ...(options.cacheMarks !== undefined && { cacheMarks: options.cacheMarks }),
      codecs,
      calibration,
      keepCalibration: () => kept.note(),
      ledger,
      keyName: (credential) => `k_${createHmac('sha256', key).update(`key:${credential}`).digest('hex').slice(0, 32)}`,
      meter: {
        ...meter,
        limitOf: (target, settings, buffer) =>
          limitOf(target, settings, buffer, catalogue(), {
            ...(target.learned?.window !== undefined && { learnedWindow: target.learned.window }),
            ...(target.learned?.bodyBytes !== undefined && { bodyBytes: target.learned.bodyBytes }),
          }),
      },
      catalogue: catalogue(),
      sessions,
      artifacts: typeof options.artifacts === 'object' ? options.artifacts : openArtifacts(url, { secret: key, clock }),
      addressOf: artifactAddress(key),
      present: presenter(registry),
      describeResult: registry.summarise,
      provenance: readerProvenance(key),
      clock,
      hash,
      memo,
      emit,
      policy: plimsollPolicy,
    }
    const { redact = false } = options
    return redact === false ? all : redactingDeps(all, createRedactor(redact === true ? {} : redact))
  })

  const tokenizerOf = createTokenizerById()
  const under = (policy: Policy, window?: number): (() => Promise<EngineDeps>) => {
    const { estimator, tokenBudget } = policy
    const policyBudgets: readonly Budget[] | undefined =
      tokenBudget === undefined ? undefined : [sessionTokens(policy.name, tokenBudget)]
    // A session settles in the book that it reserved in; another one reads what this one wrote.
    const isBudgeted = policyBudgets !== undefined || (live.budgets ?? []).length > 0
    const budgets = isBudgeted ? { budgets: book } : {}
    return async () => {
      const all = withPrices(withWindow(await deps(), window), policy.prices)
      const common = {
        ...all,
        policy: withoutAnalysis(policy),
        ...budgets,
        ...(policyBudgets !== undefined && { policyBudgets }),
      }
      if (estimator === undefined) return common
      const meter = { ...all.meter, ...designNamed(estimator.design).meter(all.meter, estimator, { tokenizerOf }) }
      return { ...common, meter }
    }
  }
  /** AutoSRE's document ties its analysis to a sandbox. */
  const withoutAnalysis = (policy: Policy): Policy => {
    const { intake } = policy
    if (options.sandbox !== false || intake.guard === undefined) return policy
    return { ...policy, intake: { ...intake, guard: { sandbox: false, ...intake.guard } } }
  }
  const policyOf = (given: string | Policy | undefined): Policy => policyIn(live, given)
  const policyFor = (agent: string): Policy => policyOf(live.agents?.[agent]?.policy ?? live.policy)
  const open = openSessions()
  const session = (wanted: SessionOptions, policy: string | undefined, bytes: number | undefined): Session => {
    const key = JSON.stringify([wanted.tenant ?? 'local', wanted.id, wanted.agent ?? 'main', policy ?? ''])
    const chosen = (): Policy => (policy === undefined ? policyFor(wanted.agent ?? 'main') : policyOf(policy))
    const found =
      open.get(key) ??
      createSession(once(under(chosen(), live.agents?.[wanted.agent ?? 'main']?.window ?? live.window)), wanted)
    if (bytes !== undefined) open.keep(key, found, bytes)
    return found
  }
  const extraction = once(async (): Promise<Summarizer | undefined> => {
    const { summarizer: shared, redact } = await deps()
    if (options.extraction === undefined) return shared
    const own = extractionModel
    return own === undefined || redact === undefined ? own : redactingSummarizer(own, redact)
  })
  const extractor = options.extraction ?? options.summarizer
  const readers = openReaders({
    deps,
    extraction,
    canExtract: extractor !== undefined && extractor !== 'mechanical',
    ...(options.sql !== undefined && { sql: options.sql }),
    ...(options.sandbox !== undefined && { sandbox: options.sandbox }),
    emit: (body, { session: of = '', ...owner }) => emit({ ...body, ...owner, session: of, at: clock.now() }),
  })
  const isShared = cluster.isWorker || sessions.isShared === true
  const gateway = createGateway({
    secret,
    codecs,
    chain: memo.chain,
    bodies: memo.bodies,
    session,
    glance: (wanted, policy) => session(wanted, policy, undefined),
    learned: learnedLimits(sessions, clock),
    responses: responseSessions(sessions),
    conversations: createConversations({ store: sessions, hash, isShared }),
    ledger,
    clock,
    emit,
    hidden: {
      steps: hiddenSteps(sessions),
      tools: {
        readers: readers.of,
        names: (model = 'unknown') => readers.names(live.window ?? catalogue().resolve(model).info.window),
      },
    },
    isShared,
    settings: () => live,
  })
  return {
    fetch: createFetch(gateway, options.fetch ?? ((input, init) => globalThis.fetch(input, init))),
    session: (wanted) => session(wanted, undefined, 0),
    importSession: async (lines, { tenant = 'local' } = {}) =>
      importStore(sessions, lines, { tenant, artifacts: (await deps()).artifacts }),
    gateway,
    sidecar: createSidecar({
      tenantOf: (header, path) => gateway.tenantOf(header, path),
      session: (wanted) => session(wanted, undefined, 0),
      read: async (tenant, handle) => (await deps()).artifacts.read(tenant, handle),
      values: sessions,
      window: () => live.window,
    }),
    ledger,
    reconfigure(next) {
      checkPolicies(next)
      const hasOtherBudgets = JSON.stringify(next.budgets ?? []) !== JSON.stringify(live.budgets ?? [])
      live = next
      if (hasOtherBudgets) book = openBook()
      // Each is rebuilt from its log under the new settings; whoever is at work keeps the one it has.
      open.clear()
    },
    isReady: async () => (await secret()).length > 0 && (await sessions.version(SYSTEM_TENANT, 'ready')) >= 0,
    artifacts: artifactFace(async () => (await deps()).artifacts, readers),
    on(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    async close() {
      await background.close()
      open.clear()
      await keeper?.flush()
      await readers.close()
      if (deps.started()) await (await deps()).artifacts.close()
      await sessions.close()
    },
  }
}
