/** A deterministic agent history: one user task, then tool pairs, as chat messages. About 740 bytes per message. */
export interface ChatMessage {
  readonly role: 'system' | 'user' | 'assistant' | 'tool'
  readonly content: string | null
  readonly tool_calls?: readonly ChatCall[]
  readonly tool_call_id?: string
}

export interface ChatCall {
  readonly id: string
  readonly type: 'function'
  readonly function: { readonly name: string; readonly arguments: string }
}

const WORDS = (
  'latency checkout replica timeout pool retry cursor shard commit queue worker region deploy canary trace span ' +
  'error warning connection refused upstream gateway cache eviction lock index vacuum throughput saturation budget'
).split(' ')

/** A small generator of its own: the same numbers on every machine. */
function randomFrom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

export function incident(messages: number, seed = 7): ChatMessage[] {
  const random = randomFrom(seed)
  const words = (count: number): string =>
    Array.from({ length: count }, () => WORDS[Math.floor(random() * WORDS.length)]!).join(' ')
  const line = (n: number): string =>
    `2026-03-0${1 + (n % 9)}T1${n % 10}:${10 + (n % 50)}:00Z ${random() < 0.2 ? 'ERROR' : 'INFO'} pod-${Math.floor(random() * 40)} ${words(9)}`
  const out: ChatMessage[] = [
    { role: 'system', content: `You investigate incidents. ${words(120)}` },
    { role: 'user', content: `Find out why checkout is slow since 14:02. ${words(60)}` },
  ]
  for (let step = 0; out.length < messages; step++) {
    if (step % 12 === 11) {
      out.push({ role: 'assistant', content: `So far: ${words(60)}` })
      out.push({ role: 'user', content: `Go on. ${words(12)}` })
      continue
    }
    const id = `call_${step.toString(36).padStart(6, '0')}`
    const call = { name: 'read_logs', arguments: JSON.stringify({ service: WORDS[step % WORDS.length], from: step }) }
    out.push({ role: 'assistant', content: words(14), tool_calls: [{ id, type: 'function', function: call }] })
    out.push({ role: 'tool', tool_call_id: id, content: Array.from({ length: 12 }, (_, n) => line(n)).join('\n') })
  }
  return out.slice(0, messages)
}
