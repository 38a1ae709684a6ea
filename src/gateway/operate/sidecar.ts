import { parsedJson, recordOf, type Fields } from '../../core/values.ts'
import { createHash } from 'node:crypto'
import { DOES_NOT_FIT, isPlimsollError, PlimsollError } from '../../core/errors.ts'
import type { Plan } from '../../core/edits.ts'
import { handlesIn, isHandle, mapHandles, type Handle } from '../../core/handles.ts'
import type { Session, SessionOptions } from '../../engine/session/session.ts'
import type { SessionStore } from '../../ports/session-store.ts'
import { checkBody } from '../../formats/json/bounds.ts'
import { detectFormat } from '../../formats/registry.ts'
import { nextRound } from '../../util/yield-now.ts'
import { errorAnswer, type Answer } from '../answer.ts'
import { decodePart } from '../http/encoding.ts'
import { bearerIn, type HeaderReader } from '../identity.ts'

/**
 * The contract by which other gateways call a compressor beside them: messages in, messages out, and a way to get back what was
 * removed. It uses the same engine, so what was shortened once is shortened in the same way again.
 */
export interface Sidecar {
  serves(method: string, path: string): boolean
  /** Gives back what was stored. */
  isReading(path: string): boolean
  /** The proxy's token in the header that these callers use. */
  tokenOf(header: HeaderReader): string | undefined
  handle(request: SidecarRequest): Promise<Answer>
}

interface SidecarRequest {
  readonly method: string
  readonly path: string
  readonly header: HeaderReader
  readonly body: Uint8Array
}

interface SidecarDeps {
  readonly tenantOf: (header: HeaderReader, path: string) => Promise<string>
  readonly session: (options: SessionOptions) => Session
  readonly read: (tenant: string, handle: Handle) => Promise<Uint8Array | undefined>
  /** Whether an artifact with this handle exists. */
  readonly has: (tenant: string, handle: Handle) => Promise<boolean>
  readonly values: Pick<SessionStore, 'getValue' | 'setValue'>
  readonly window: () => number | undefined
}

const COMPRESS = '/v1/compress'
const RETRIEVE = '/v1/retrieve'

export function createSidecar(deps: SidecarDeps): Sidecar {
  return {
    serves(method, path) {
      const [pathname = ''] = path.split('?')
      if (pathname === COMPRESS || pathname === RETRIEVE) return method === 'POST'
      return (method === 'GET' || method === 'POST') && pathname.startsWith(`${RETRIEVE}/`)
    },
    isReading: (path) => path.startsWith(RETRIEVE),
    tokenOf: (header) => header('x-headroom-proxy-token') ?? bearerIn(header),
    async handle(request) {
      try {
        const tenant = await deps.tenantOf(request.header, request.path)
        const [pathname = ''] = request.path.split('?')
        const answer =
          pathname === COMPRESS
            ? await compress(deps, tenant, await parse(request.body), request.header)
            : await retrieve(deps, tenant, await hashOf(pathname, request.body))
        return { status: 200, headers: { 'content-type': 'application/json' }, body: JSON.stringify(answer) }
      } catch (error) {
        if (!isPlimsollError(error)) throw error
        return errorAnswer(undefined, error)
      }
    },
  }
}

async function compress(deps: SidecarDeps, tenant: string, body: Fields, header: HeaderReader): Promise<object> {
  const { messages, model, config } = body
  if (!Array.isArray(messages)) throw new PlimsollError('bad-input', 'messages must be a list.')
  const format = detectFormat({ messages })!
  const named = typeof model === 'string' && model !== '' ? model : 'unknown'
  const budget = body['token_budget']
  const window = typeof budget === 'number' && budget > 0 ? budget : deps.window()
  const text = JSON.stringify({ model: named, messages })
  const given = (config as { session_id?: unknown } | null | undefined)?.session_id
  const session = deps.session({
    tenant,
    id:
      header('x-plimsoll-session') ??
      (typeof given === 'string' && given !== '' ? `sidecar-${given}` : `sidecar-${beginning(messages)}`),
  })
  const turn = await session
    .prepare({
      format,
      body: text,
      targets: [
        {
          model: named,
          endpoint: 'sidecar',
          ...(window !== undefined && { window, maxOutputTokens: Math.min(1_024, Math.floor(window / 8)) }),
        },
      ],
    })
    // A request that cannot be made to fit is returned unchanged, and the provider refuses it; an error here would stop the caller's request.
    .catch((error: unknown) => {
      if (isPlimsollError(error) && DOES_NOT_FIT.has(error.code)) return undefined
      throw error
    })
  if (turn === undefined) return unchanged(messages, named)
  await session.record({ turn: turn.id, refused: true })
  const { loadOriginal, loadAfter, untouched } = turn.report
  const hashes = await publish(deps, tenant, untouched ? [] : await handlesOf(deps, tenant, turn.edits))
  const out = (JSON.parse(marked(turn.text, hashes)) as { messages: unknown[] }).messages
  const [before, after] = [Math.ceil(loadOriginal), Math.ceil(loadAfter)]
  return {
    messages: untouched ? messages : out,
    model: named,
    tokens_before: before,
    tokens_after: after,
    tokens_saved: before - after,
    compression_ratio: before === 0 ? 1 : after / before,
    transforms_applied: turn.edits.map((edit) => edit.op),
    transforms_summary: counted(turn.edits.map((edit) => edit.op)),
    ccr_hashes: [...hashes.values()],
  }
}

const unchanged = (messages: readonly unknown[], model: string): object => ({
  messages,
  model,
  tokens_before: 0,
  tokens_after: 0,
  tokens_saved: 0,
  compression_ratio: 1,
  transforms_applied: [],
  transforms_summary: {},
  ccr_hashes: [],
})

function counted(names: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1
  return counts
}

/** In the path, or in the body of a POST without one. */
async function hashOf(pathname: string, body: Uint8Array): Promise<string> {
  if (pathname !== RETRIEVE) return decodePart(pathname.slice(RETRIEVE.length + 1))
  const { hash } = await parse(body)
  return typeof hash === 'string' ? hash : ''
}

/**
 * The artifacts that edits refer to. A record quotes people, who can write any handle, so a handle in a record counts only if
 * the artifact exists.
 */
async function handlesOf(deps: SidecarDeps, tenant: string, edits: Plan): Promise<readonly Handle[]> {
  const own = new Set<Handle>()
  const named = new Set<Handle>()
  for (const edit of edits) {
    if (edit.op === 'drop') continue
    if (edit.op === 'replace' && edit.handle !== undefined) own.add(edit.handle)
    for (const handle of handlesIn(edit.text)) named.add(handle)
  }
  for (const handle of named) if (!own.has(handle) && (await deps.has(tenant, handle))) own.add(handle)
  return [...own]
}

/** Callers search for 24 hex digits after `hash=`; each maps to one of our handles. */
async function publish(deps: SidecarDeps, tenant: string, handles: readonly Handle[]): Promise<Map<Handle, string>> {
  const hashes = new Map<Handle, string>()
  for (const handle of handles) hashes.set(handle, createHash('sha256').update(handle).digest('hex').slice(0, 24))
  // In parallel, so that the store can write them together.
  await Promise.all([...hashes].map(([handle, hash]) => deps.values.setValue(tenant, `retrieve:${hash}`, handle, true)))
  return hashes
}

const marked = (text: string, hashes: ReadonlyMap<Handle, string>): string =>
  mapHandles(text, (handle) => {
    const hash = hashes.get(handle)
    return hash === undefined ? handle : `${handle} hash=${hash}`
  })

async function retrieve(deps: SidecarDeps, tenant: string, asked: string): Promise<object> {
  const handle = isHandle(asked)
    ? asked
    : /^[0-9a-f]{24}$/.test(asked)
      ? await deps.values.getValue(tenant, `retrieve:${asked}`)
      : undefined
  const bytes = handle === undefined ? undefined : await deps.read(tenant, handle)
  if (bytes === undefined) throw new PlimsollError('not-found', 'Nothing is stored under that hash for this key.')
  return { hash: asked, handle, original_content: Buffer.from(bytes).toString('utf8'), bytes: bytes.length }
}

async function parse(body: Uint8Array): Promise<Fields> {
  await checkBody(body, nextRound)
  const parsed = recordOf(parsedJson(Buffer.from(body).toString('utf8')))
  if (parsed !== undefined) return parsed
  throw new PlimsollError('bad-input', 'The body must be a JSON object with messages.')
}

function beginning(messages: readonly unknown[]): string {
  const first = messages.find((message) => (message as { role?: unknown } | null)?.role === 'user') ?? messages[0]
  return createHash('sha256')
    .update(JSON.stringify(first ?? ''))
    .digest('hex')
    .slice(0, 16)
}
