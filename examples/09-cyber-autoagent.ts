/**
 * Strands' contract of a `ConversationManager`, with Cyber-AutoAgent's cascade behind it: messages change in place, `removed_message_count` counts
 * what went, and the state carries its class name.
 *
 *   npx tsx examples/09-cyber-autoagent.ts
 */
import { createPlimsoll, type Plimsoll } from 'plimsoll'

interface Message {
  role: string
  content: object[]
}

class PlimsollConversationManager {
  readonly #session: ReturnType<Plimsoll['session']>
  removed_message_count = 0

  constructor(plimsoll: Plimsoll, id: string) {
    this.#session = plimsoll.session({ id })
  }

  /** Before each call of the model: the same list, with the view in it. */
  async apply_management(agent: { messages: Message[] }): Promise<void> {
    const body = { model: MODEL, max_tokens: 1_000, messages: agent.messages }
    const turn = await this.#session.prepare({ format: 'anthropic-messages', body, targets: [TARGET] })
    const { messages } = JSON.parse(turn.text) as { messages: Message[] }
    this.removed_message_count += agent.messages.length - messages.length
    agent.messages.splice(0, agent.messages.length, ...messages)
  }

  /** On an overflow: asks for a compaction now. */
  async reduce_context(agent: { messages: Message[] }): Promise<void> {
    await this.#session.compact()
    await this.apply_management(agent)
  }

  /** The last five reductions, newest last. */
  async reductions() {
    const log = await this.#session.audit()
    const made = log.flatMap((record) => (record.type === 'epoch' ? [record] : []))
    return made.slice(-5).map(({ reason, before, after, count }) => ({ reason, before, after, count }))
  }

  get_state() {
    return { __name__: 'PlimsollConversationManager', removed_message_count: this.removed_message_count }
  }

  restore_from_session(state: ReturnType<PlimsollConversationManager['get_state']>): void {
    const { __name__: name } = state
    if (name !== 'PlimsollConversationManager') throw new Error(`The state is one of ${name}.`)
    this.removed_message_count = state.removed_message_count
  }
}

const MODEL = 'claude-sonnet-4-5'
const TARGET = { model: MODEL, window: 200_000 }
const plimsoll = createPlimsoll({ policy: 'cyber-autoagent', store: 'memory:', artifacts: 'memory:' })
const manager = new PlimsollConversationManager(plimsoll, 'operation-1')
const agent = { messages: [{ role: 'user', content: [{ type: 'text', text: 'Assess example.com.' }] }] as Message[] }
const own = agent.messages
for (let i = 0; i < 70; i++) {
  const id = `scan_${i}`
  agent.messages.push(
    { role: 'assistant', content: [{ type: 'tool_use', id, name: 'shell', input: { cmd: `nmap -p ${i}` } }] },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: `port ${i} is closed. `.repeat(40) }] },
  )
  await manager.apply_management(agent)
}
const restored = new PlimsollConversationManager(plimsoll, 'operation-1')
restored.restore_from_session(manager.get_state())
const isWhole = restored.removed_message_count + agent.messages.length === 141
console.log(
  `${agent.messages.length} messages in place: ${own === agent.messages}; removed and left are all: ${isWhole}; ` +
    `${(await manager.reductions()).length} reductions`,
)
await plimsoll.close()
