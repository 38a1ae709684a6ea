import { createHmac } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { PlimsollError } from '../../core/errors.ts'
import { SYSTEM_TENANT } from '../../core/handles.ts'
import { artifactAddress, statOf } from '../../drivers/artifacts/artifact.ts'
import { heldArtifacts, type HeldArtifacts } from '../../drivers/artifacts/held.ts'
import { messageOf } from '../../core/values.ts'
import { artifactsBeside, openArtifacts } from '../../drivers/open-artifacts.ts'
import { shellFiles } from '../../drivers/artifacts/shell-files.ts'
import { keyFromEnvironment } from '../../drivers/crypto/seal.ts'
import { openTelemetry } from '../../drivers/telemetry/open-telemetry.ts'
import type { EngineDeps, EngineMeter } from '../../engine/deps.ts'
import { createToolRegistry } from '../../engine/intake/index.ts'
import { tenantCalibrations } from '../../engine/learning/calibrations.ts'
import { plimsoll as plimsollPolicy } from '../../engine/presets/plimsoll.ts'
import { readerProvenance } from '../../engine/readers/reader.ts'
import { redactingDeps, redactingSummarizer } from '../../engine/redaction/borders.ts'
import { backgroundWork } from '../../engine/session/background-work.ts'
import { presenter, presentText } from '../../engine/tool-results/present.ts'
import { providerOfFormat } from '../../formats/endpoints.ts'
import { codecs, framingOfWire } from '../../formats/registry.ts'
import { CacheLives, createMeter, limitOf } from '../../meter/index.ts'
import type { PlimsollOptions } from '../../settings/options.ts'
import type { ArtifactStore } from '../../ports/artifact-store.ts'
import type { Catalogue } from '../../ports/catalogue.ts'
import type { Embed } from '../../ports/embed.ts'
import type { Summarizer } from '../../ports/summarizer.ts'
import { cacheSizes } from '../cache-sizes.ts'
import type { Foundation } from './foundation.ts'
import { findSecret } from '../home.ts'
import { packageVersion } from '../../util/package-root.ts'
import { once } from '../../util/once.ts'
import { presentInThread } from './present-in-thread.ts'
import type { OpenModels, OpenTokenizers } from './models.ts'

/** The engine's parts, opened on the first request. */
export interface OpenEngine {
  /** The key of handles and tenant ids. */
  secret(): Promise<Uint8Array>
  deps(): Promise<EngineDeps>
  artifacts(): Promise<ArtifactStore>
  /** Whether both stores can be written. @throws what one of them says when it cannot */
  isReady(): Promise<boolean>
  /** The model that reads artifacts. */
  extraction(): Promise<Summarizer | undefined>
  /** Ends background work and writes the outboxes; returns the error when something cannot be written. */
  flush(): Promise<PlimsollError | undefined>
  saveLearned(): Promise<void>
  close(): Promise<void>
}

export function openEngine(
  options: PlimsollOptions,
  foundation: Foundation,
  models: OpenModels,
  tokenizers: OpenTokenizers,
): OpenEngine {
  const { clock, sessions, redactor, storeUrl, hash, memo, ledger, emit, note } = foundation
  // Sends spans and metrics to the program's OpenTelemetry SDK.
  if (options.telemetry !== false)
    foundation.on(
      openTelemetry({
        version: packageVersion,
        providerOf: providerOfFormat,
      }),
    )
  const background = backgroundWork()
  const outboxes = new Set<() => Promise<boolean>>()
  const calibrations = tenantCalibrations(sessions, { onEvent: note })
  const secret = once(() => findSecret(options.secret, sessions))
  const inThread = presentInThread(presentText)
  let artifacts: HeldArtifacts | undefined
  const held = (store: ArtifactStore, addressOf: EngineDeps['addressOf']): HeldArtifacts =>
    (artifacts = heldArtifacts(store, {
      statOf: (tenant, bytes, meta) => statOf(addressOf(tenant, bytes), bytes, meta, clock.now()),
      onAway: (tenant, { session = '' }, { message: cause }) =>
        emit({ type: 'degraded', what: 'artifact store', cause, tenant, session, at: clock.now() }),
    }))
  const deps = once(async (): Promise<EngineDeps> => {
    const key = await secret()
    const addressOf = artifactAddress(key)
    const url = typeof options.artifacts === 'string' ? options.artifacts : artifactsBeside(storeUrl ?? 'memory:')
    const catalogue = models.catalogue()
    const registry = createToolRegistry(options.toolSummaries)
    const inline = presenter(registry)
    const warn = (message: string): void => note({ type: 'warning', topic: 'artifacts', message })
    const given = typeof options.artifacts === 'object' ? options.artifacts : undefined
    const own = given ?? openArtifacts(url, { secret: key, clock })
    // A program's own driver decides where bytes lie, and what is encrypted at rest is not written beside it as it is.
    const files =
      given === undefined && keyFromEnvironment(process.env) === undefined ? shellFiles(own, clock, warn) : undefined
    const all: EngineDeps = {
      ...openMeter(options, foundation, catalogue, tokenizers),
      countTokens: options.countTokens,
      summarizer: models.summarizer,
      embed: models.embed && quietly(models.embed, note),
      background,
      hooks: options.hooks,
      cacheMarks: options.cacheMarks,
      cacheDiagnostics: options.cacheDiagnostics,
      autoRecall: options.recall?.auto,
      codecs,
      calibrations,
      cacheLives: new CacheLives(),
      ledger,
      keyName: (credential) => `k_${createHmac('sha256', key).update(`key:${credential}`).digest('hex').slice(0, 32)}`,
      catalogue,
      sessions,
      artifacts: held(files?.store ?? own, addressOf),
      fileFor: files?.fileFor,
      addressOf,
      present: inline,
      // `toolSummaries` are functions, which cannot be passed to a thread.
      presentLong: options.toolSummaries === undefined ? inThread.present : undefined,
      describeResult: registry.summarise,
      provenance: readerProvenance(key),
      clock,
      hash,
      memo,
      emit,
      outboxes,
      policy: plimsollPolicy,
    }
    return redactor === undefined ? all : redactingDeps(all, redactor)
  })
  const check = async (): Promise<boolean> => {
    await deps()
    await sessions.setValue(SYSTEM_TENANT, 'ready', String(clock.now()))
    await artifacts?.checkWritable()
    return true
  }
  let ready: { readonly until: number; readonly answer: Promise<boolean> } | undefined
  return {
    secret,
    deps,
    artifacts: async () => (await deps()).artifacts,
    isReady() {
      if (ready === undefined || clock.now() >= ready.until) ready = { until: clock.now() + READY_MS, answer: check() }
      return ready.answer
    },
    extraction: once(async () => {
      const { summarizer, redact } = await deps()
      if (options.extraction === undefined) return summarizer
      const { extraction } = models
      return extraction === undefined || redact === undefined ? extraction : redactingSummarizer(extraction, redact)
    }),
    async flush() {
      await background.close()
      return flushAll(artifacts === undefined ? outboxes : new Set([...outboxes, artifacts.flush]))
    },
    saveLearned: () => calibrations.flush(),
    async close() {
      await inThread.close()
      // A store that the program handed in is closed even if nothing was stored in it.
      const given = typeof options.artifacts === 'object' ? options.artifacts : undefined
      await (deps.started() ? (await deps()).artifacts : given)?.close()
    },
  }
}

/** What fails is told of, and gives nothing. */
const quietly =
  (embed: Embed, note: Foundation['note']): Embed =>
  async (texts) => {
    try {
      return await embed(texts)
    } catch (error) {
      note({ type: 'degraded', what: 'embed', cause: messageOf(error) })
      return []
    }
  }

/** The meter with the catalogue's limits, and with exact counts unless they are switched off. */
function openMeter(
  { exactTokens, memoryBytes }: PlimsollOptions,
  { note }: Foundation,
  catalogue: Catalogue,
  { exact }: OpenTokenizers,
): Pick<EngineDeps, 'meter' | 'sharpen' | 'loadTokenizer'> {
  const { texts } = cacheSizes(memoryBytes)
  const counter = createMeter({
    cachedCharacters: texts,
    catalogue,
    framingOf: framingOfWire,
    onEvent: note,
    tokenizerFor: exact?.get,
  })
  const meter: EngineMeter = {
    ...counter,
    limitOf: (target, settings, buffer) => limitOf(target, settings, buffer, catalogue),
  }
  if (exact === undefined) return { meter }
  const sharpen = (model: string): Promise<boolean> => exact.load(counter.familyOf(model))
  return {
    meter,
    sharpen,
    loadTokenizer: exactTokens === true ? async (model) => void (await sharpen(model)) : undefined,
  }
}

/** Anybody may ask whether we are ready; each answer writes to the disk. */
const READY_MS = 1_000

/** Longer than the pause after which an unreachable store is tried again. */
const ONCE_MORE_MS = 1_100

/** Writes the sessions' outboxes; returns an error when acknowledged entries cannot be written. */
async function flushAll(outboxes: ReadonlySet<() => Promise<boolean>>): Promise<PlimsollError | undefined> {
  const tryAll = async (): Promise<number> => {
    let left = 0
    // One after another: the first finds out whether the store is back.
    for (const flush of outboxes) if (!(await flush().catch(() => false))) left++
    return left
  }
  if (outboxes.size === 0 || (await tryAll()) === 0) return undefined
  await delay(ONCE_MORE_MS)
  const left = await tryAll()
  if (left === 0) return undefined
  return new PlimsollError(
    'store-unavailable',
    `The last log entries of ${left} session(s) could not be written to the store.`,
    {
      advice:
        'Compactions, edits and usage of their last requests are lost. The next request of each session makes the compactions and edits again.',
      fields: { sessions: left },
    },
  )
}
