import { isUtf8 } from 'node:buffer'
import type { Handle } from '../../core/handles.ts'
import type { EpochEdit, Epoch, LogRecord } from '../../core/records.ts'
import type { ArtifactMeta, ArtifactStore } from '../../ports/artifact-store.ts'
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
function redactRecord(redact: Redactor, record: LogRecord): LogRecord {
  switch (record.type) {
    case 'item-seen':
      return {
        ...record,
        callId: record.callId && redact(record.callId),
        toolName: record.toolName && redact(record.toolName),
        kind: redact(record.kind),
        role: redact(record.role),
        text: redact(record.text),
        fragment: redact(record.fragment),
      }
    case 'edit':
      return { ...record, text: redact(record.text), reason: redact(record.reason) }
    case 'audit':
      return {
        ...record,
        callId: record.callId && redact(record.callId),
        tool: record.tool && redact(record.tool),
        reason: redact(record.reason),
      }
    case 'compaction-asked':
      return record.instructions === undefined ? record : { ...record, instructions: redact(record.instructions) }
    case 'usage':
    case 'request-sent':
      return { ...record, model: redact(record.model) }
    case 'epoch':
      return redactEpoch(redact, record)
    default:
      return record
  }
}

const redactEpoch = (redact: Redactor, epoch: Epoch): Epoch => ({
  ...epoch,
  edits: epoch.edits.map((edit): EpochEdit => ('text' in edit ? { ...edit, text: redact(edit.text) } : edit)),
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

function redactingArtifacts(artifacts: ArtifactStore, redact: Redactor): ArtifactStore {
  const cleaned = (meta: ArtifactMeta): ArtifactMeta => {
    const { tool, callId } = meta
    return {
      ...meta,
      tool: tool && redact(tool),
      callId: callId && redact(callId),
    }
  }
  return {
    ...artifacts,
    put: (tenant, bytes, meta) => artifacts.put(tenant, redactBytes(redact, bytes), meta && cleaned(meta)),
  }
}

/** The address of what will be stored, not of what came. */
const redactingAddress =
  (addressOf: (tenant: string, bytes: Uint8Array) => Handle, redact: Redactor) =>
  (tenant: string, bytes: Uint8Array): Handle =>
    addressOf(tenant, redactBytes(redact, bytes))

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
    addressOf: redactingAddress(deps.addressOf, redact),
    summarizer: summarizer && redactingSummarizer(summarizer, redact),
  }
}
