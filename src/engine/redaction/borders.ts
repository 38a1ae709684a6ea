import { isUtf8 } from 'node:buffer'
import type { Epoch, LogRecord } from '../../core/records.ts'
import type { ArtifactStore } from '../../ports/artifact-store.ts'
import type { SessionStore } from '../../ports/session-store.ts'
import type { Summarizer } from '../../ports/summarizer.ts'
import type { EngineDeps } from '../deps.ts'
import type { Redactor } from './redactor.ts'

/*
 * The borders at which text leaves the request: the archive, the artifacts and the summarizer. Requests themselves pass as they
 * are; what the client wants to send is the client's to decide.
 */

/** Text is redacted; bytes that are no text have no labels to keep and stay as they are. */
function redactBytes(redact: Redactor, bytes: Uint8Array): Uint8Array {
  if (!isUtf8(bytes)) return bytes
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8')
  const clean = redact(text)
  return clean === text ? bytes : Buffer.from(clean)
}

/** Names and ids are a client's words too. Hashes and what a record is found by stay. */
const WORDS: { readonly [T in LogRecord['type']]?: readonly string[] } = {
  'item-seen': ['callId', 'toolName', 'kind', 'role', 'text', 'fragment'],
  edit: ['text', 'reason'],
  audit: ['callId', 'tool', 'reason'],
  'compaction-asked': ['instructions'],
  usage: ['model'],
  'request-sent': ['model'],
}

/** A record with these of its fields redacted, where it has them. */
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

/** Everything that is written; what was written is what is read, also in the process that wrote it. */
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

/** A second provider sees no secrets, and none that it makes up comes back. */
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

/** The engine's parts with every border guarded. */
export function redactingDeps(deps: EngineDeps, redact: Redactor): EngineDeps {
  const { summarizer } = deps
  return {
    ...deps,
    redact,
    sessions: redactingStore(deps.sessions, redact),
    artifacts: redactingArtifacts(deps.artifacts, redact),
    // The address of what will be stored, not of what came.
    addressOf: (tenant, bytes) => deps.addressOf(tenant, redactBytes(redact, bytes)),
    summarizer: summarizer && redactingSummarizer(summarizer, redact),
  }
}
