/** Conversations of an agent with tools, of about `bytes` bytes. Every request is a new turn of one of several sessions. */
export function bodiesOf(bytes: number, sessions: number, turns: number): Buffer[][] {
  return Array.from({ length: sessions }, (_, session) => {
    const messages = historyOf(bytes, session)
    const perTurn = Math.min(2_000, Math.floor(bytes / 20))
    return Array.from({ length: turns }, (_unused, turn) => {
      if (turn === 0) messages.push({ role: 'user', content: `Session ${session}: what next?` })
      else messages.push(...step(session, 10_000 + turn, perTurn))
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
  for (let number = 0; size < bytes; number++) {
    const wanted = Math.min(4_000, Math.max(100, bytes - size - 200))
    messages.push(...step(session, number, wanted))
    size += wanted + 280
  }
  return messages
}

/** A call of the agent's tool and its result. */
function step(session: number, number: number, bytes: number): object[] {
  const id = `call_${session}_${number}`
  const call = { id, type: 'function', function: { name: 'bash', arguments: '{}' } }
  return [
    { role: 'assistant', content: null, tool_calls: [call] },
    { role: 'tool', tool_call_id: id, content: lines(session, number, bytes) },
  ]
}

function lines(session: number, step: number, bytes: number): string {
  let text = ''
  for (let i = 0; text.length < bytes; i++) {
    const id = (session * 31 + step * 7_919 + i * 104_729) % 1_000_003
    text += `14:${step % 60}:${i % 60} order=${id} service=checkout-${id % 5} handled in ${id % 900} ms\n`
  }
  return text
}
