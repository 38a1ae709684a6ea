import { isUtf8 } from 'node:buffer'
import type { Epoch, LogRecord } from '../../core/records.ts'
import type { ArtifactStore } from '../../ports/artifact-store.ts'
import type { SessionStore } from '../../ports/session-store.ts'
import type { Summarizer } from '../../ports/summarizer.ts'
import type { EngineDeps } from '../deps.ts'
import type { Redactor } from './redactor.ts'

/*
 * Redaction where text leaves a request: archive, artifacts, summarizer. The request itself is sent unchanged; its content is the client's decision.
 */

/** Redacts text; binary content stays unchanged. */
function redactBytes(redact: Redactor, bytes: Uint8Array): Uint8Array {
  if (!isUtf8(bytes)) return bytes
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8')
  const clean = redact(text)
  return clean === text ? bytes : Buffer.from(clean)
}

/** The redacted fields of log entries: names and ids are the client's text too. Hashes and keys stay. */
const WORDS: { readonly [T in LogRecord['type']]?: readonly string[] } = {
  'item-seen': ['callId', 'toolName', 'kind', 'role', 'text', 'fragment'],
  edit: ['text', 'reason'],
  audit: ['callId', 'tool', 'reason'],
  'compaction-asked': ['instructions'],
  usage: ['model'],
  'request-sent': ['model'],
}

function redactFields<T extends object>(redact: Redactor, record: T, names: readonly string[] = []): T {
  const words = Object.entries(record).filter(([name, value]) => names.includes(name) && typeof value === 'string')
  return { ...record, ...Object.fromEntries(words.map(([name, value]) => [name, redact(value as string)])) }
}

const redactRecord = (redact: Redactor, record: LogRecord): LogRecord =>
  record.type === 'epoch' ? redactEpoch(redact, record) : redactFields(redact, record, WORDS[record.type])

const redactEpoch = (redact: Redactor, epoch: Epoch): Epoch => ({
  ...epoch,
  edits: epoch.edits.map((edit) => redactFields(redact, edit, ['text'])),
})

export function redactingStore<S extends SessionStore>(store: S, redact: Redactor): S {
  return {
    ...store,
    append: (tenant, session, records, expected, options) =>
      store.append(
        tenant,
        session,
        records.map((record) => redactRecord(redact, record)),
        expected,
        options,
      ),
    claimEpoch: (tenant, session, epoch) => store.claimEpoch(tenant, session, redactEpoch(redact, epoch)),
    setValue: (tenant, key, value, ifAbsent, options) => store.setValue(tenant, key, redact(value), ifAbsent, options),
  }
}

const redactingArtifacts = (artifacts: ArtifactStore, redact: Redactor): ArtifactStore => ({
  ...artifacts,
  put: (tenant, bytes, meta) =>
    artifacts.put(tenant, redactBytes(redact, bytes), meta && redactFields(redact, meta, ['tool', 'callId'])),
})

export function redactingSummarizer(summarizer: Summarizer, redact: Redactor): Summarizer {
  return {
    ...summarizer,
    async summarise(request) {
      const answer = await summarizer.summarise({
        ...request,
        system: redact(request.system),
        prompt: redact(request.prompt),
      })
      return { ...answer, text: redact(answer.text) }
    },
  }
}

export function redactingDeps(deps: EngineDeps, redact: Redactor): EngineDeps {
  const { summarizer } = deps
  return {
    ...deps,
    redact,
    sessions: redactingStore(deps.sessions, redact),
    artifacts: redactingArtifacts(deps.artifacts, redact),
    // The address of the redacted bytes, which are what is stored.
    addressOf: (tenant, bytes) => deps.addressOf(tenant, redactBytes(redact, bytes)),
    summarizer: summarizer && redactingSummarizer(summarizer, redact),
  }
}
