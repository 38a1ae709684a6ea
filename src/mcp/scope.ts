import { randomUUID } from 'node:crypto'
import { PlimsollError } from '../core/errors.ts'
import type { Plimsoll } from '../plimsoll.ts'
import type { Argument } from '../settings/check.ts'
import { driver, group, text, type Schema } from '../settings/values.ts'

/** The content that a client may see. Set when the server is started, never by the client. */
export interface McpScope {
  /** @default 'local' */
  readonly tenant?: string
  /** One conversation. Without it, all of the tenant's. */
  readonly session?: string
  /** One agent of the conversation. Without it, all of its agents. */
  readonly agent?: string
}

export const SCOPE: Schema<McpScope> = group('', {
  tenant: text(),
  session: text(),
  agent: text(),
} satisfies Record<keyof McpScope, Schema>)

export const PLIMSOLL: Argument = {
  name: 'plimsoll',
  schema: driver('what createPlimsoll() gives', 'session', 'on'),
}

/** The data that the tools and resources of one client use. */
export interface Reach {
  readonly plimsoll: Plimsoll
  readonly tenant: string
  readonly session?: string
  readonly agent?: string
}

/**
 * For a server of one client that is started before it is known which conversation it serves. The first call that names one decides for the rest of
 * the process, so that content of different tenants is never mixed.
 */
export interface Choice {
  /** What can be named, for the client. */
  list(): Promise<string>
  /** @throws PlimsollError when there is no such conversation, or several tenants have one of this name */
  scopeOf(session: string): Promise<McpScope>
}

/** A reach with nothing in it until a call names a session. @throws PlimsollError `bad-input` until then, and for another one later */
export function chosenBy(plimsoll: Plimsoll, { list, scopeOf }: Choice) {
  let chosen: string | undefined
  const reach: Reach = { plimsoll, tenant: randomUUID() }
  const choose = async (named: unknown): Promise<void> => {
    if (named === undefined && chosen !== undefined) return
    if (typeof named !== 'string' || named === '')
      throw new PlimsollError('bad-input', 'It is not decided which conversation this server reads.', {
        advice: `Ask the user which, and name it once as session of recall or context_status:\n${await list()}`,
      })
    if (chosen === undefined) Object.assign(reach, await scopeOf(named))
    chosen ??= named
    if (named !== chosen)
      throw new PlimsollError('bad-input', `This server reads ${JSON.stringify(chosen)} only; start another one.`)
  }
  return { reach, choose }
}

export interface Conversation {
  readonly session: string
  readonly agent: string
}

/** The session of a call: the scope's, else the one that the call names. @throws PlimsollError `bad-input`, `not-found` */
export async function sessionOf({ plimsoll, tenant, session }: Reach, named: string | undefined): Promise<string> {
  const wanted = session ?? named
  if (wanted === undefined)
    throw new PlimsollError('bad-input', 'session is missing: name the conversation.', {
      advice: 'The resources plimsoll://session/… list them.',
    })
  if (await plimsoll.archive.has(wanted, { tenant })) return wanted
  throw new PlimsollError('not-found', `There is no session ${JSON.stringify(wanted.slice(0, 100))}.`)
}

/** The session and agent of a call. A call must name the agent when the session has several. */
export async function conversationOf(reach: Reach, input: Readonly<Record<string, unknown>>): Promise<Conversation> {
  const session = await sessionOf(reach, input['session'] as string | undefined)
  const agents = await reach.plimsoll.archive.agents(session, { tenant: reach.tenant })
  const wanted = reach.agent ?? (input['agent'] as string | undefined)
  if (wanted === undefined && agents.length <= 1) return { session, agent: agents[0] ?? 'main' }
  if (wanted !== undefined && agents.includes(wanted)) return { session, agent: wanted }
  const known = agents.map((agent) => JSON.stringify(agent)).join(', ')
  throw wanted === undefined
    ? new PlimsollError('bad-input', `${agents.length} agents work in this session; agent is missing.`, {
        advice: `Use one of ${known}.`,
      })
    : new PlimsollError('not-found', `No agent ${JSON.stringify(wanted.slice(0, 100))} works in this session.`, {
        advice: `Known: ${known}.`,
      })
}

/** Said with an answer that found nothing, where nothing is all there is: a reader must not take that for "it was never said". */
export async function nothingHeld({ plimsoll, tenant, ...reach }: Reach, named: unknown): Promise<string> {
  const session = reach.session ?? (named as string | undefined)
  if (session === undefined)
    return (await plimsoll.archive.sessions({ tenant, limit: 1 })).length > 0 ? '' : ' No conversation is stored yet.'
  for await (const { type } of plimsoll.archive.read(session, { tenant })) if (type === 'item-seen') return ''
  return ` The conversation ${JSON.stringify(session)} holds nothing yet.`
}

export const reachOf = (plimsoll: Plimsoll, { tenant = 'local', session, agent }: McpScope): Reach => ({
  plimsoll,
  tenant,
  session,
  agent,
})
