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

/** Redacts text in the encoding that it is in; content that is no text stays unchanged. */
function redactBytes(redact: Redactor, bytes: Uint8Array): Uint8Array {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const encoding = encodingOf(buffer)
  if (encoding === undefined) return bytes
  if (encoding === 'utf-16be') {
    const even = buffer.length - (buffer.length % 2)
    const turned = Buffer.from(buffer.subarray(0, even)).swap16()
    const clean = redactIn(redact, turned, 'utf16le')
    return clean === turned ? bytes : Buffer.concat([Buffer.from(clean).swap16(), buffer.subarray(even)])
  }
  return redactIn(redact, buffer, encoding)
}

function redactIn(redact: Redactor, bytes: Buffer, encoding: BufferEncoding): Buffer {
  const text = bytes.toString(encoding)
  const clean = redact(text)
  return clean === text ? bytes : Buffer.from(clean, encoding)
}

const LOOKED_AT = 4096

/** By its first bytes. Text of one byte a letter is read as Latin-1, which gives every byte back. */
function encodingOf(bytes: Buffer): 'utf8' | 'utf16le' | 'utf-16be' | 'latin1' | undefined {
  const head = bytes.subarray(0, LOOKED_AT)
  const zeros = [0, 0]
  let controls = 0
  for (const [i, byte] of head.entries()) {
    if (byte === 0) zeros[i % 2]!++
    else if (byte < 32 && (byte < 7 || byte > 13) && byte !== 27) controls++
  }
  const [even = 0, odd = 0] = zeros
  // Plain letters in UTF-16 have a zero beside each.
  if ((head[0] === 0xff && head[1] === 0xfe) || (odd > head.length / 8 && even * 8 < odd)) return 'utf16le'
  if ((head[0] === 0xfe && head[1] === 0xff) || (even > head.length / 8 && odd * 8 < even)) return 'utf-16be'
  if (isUtf8(bytes)) return 'utf8'
  return even + odd + controls > head.length / 50 ? undefined : 'latin1'
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
  const { summarizer, embed } = deps
  return {
    ...deps,
    redact,
    sessions: redactingStore(deps.sessions, redact),
    artifacts: redactingArtifacts(deps.artifacts, redact),
    // The address of the redacted bytes, which are what is stored.
    addressOf: (tenant, bytes) => deps.addressOf(tenant, redactBytes(redact, bytes)),
    summarizer: summarizer && redactingSummarizer(summarizer, redact),
    embed: embed && ((texts) => embed(texts.map(redact))),
  }
}
