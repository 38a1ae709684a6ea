/** Conversations of an agent with tools, of about `bytes` bytes. Every request is a new turn of one of several sessions. */
export function bodiesOf(bytes: number, sessions: number, turns: number): Buffer[][] {
  return Array.from({ length: sessions }, (_, session) => {
    const messages = historyOf(bytes, session)
    return Array.from({ length: turns }, (_unused, turn) => {
      messages.push({ role: 'user', content: `Session ${session}, question ${turn}: what next?` })
      return Buffer.from(JSON.stringify({ model: 'gpt-4.1', messages, tools: TOOLS }))
    })
  })
}

const TOOLS = [
  { type: 'function', function: { name: 'bash', description: 'Runs a command.', parameters: { type: 'object' } } },
]

function historyOf(bytes: number, session: number): object[] {
  const messages: object[] = [
    { role: 'system', content: 'You are an engineer.' },
    { role: 'user', content: `Task ${session}: find out why checkout is slow.` },
  ]
  let size = 300
  for (let step = 0; size < bytes; step++) {
    const wanted = Math.min(4_000, Math.max(100, bytes - size - 200))
    const content = lines(session, step, wanted)
    const id = `call_${session}_${step}`
    messages.push(
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id, type: 'function', function: { name: 'bash', arguments: '{}' } }],
      },
      { role: 'tool', tool_call_id: id, content },
    )
    size += content.length + 220
  }
  return messages
}

function lines(session: number, step: number, bytes: number): string {
  let text = ''
  for (let i = 0; text.length < bytes; i++) {
    const id = (session * 31 + step * 7_919 + i * 104_729) % 1_000_003
    text += `14:${step % 60}:${i % 60} order=${id} service=checkout-${id % 5} handled in ${id % 900} ms\n`
  }
  return text
}
