import type { Script, ScriptStep } from './generators/script.ts'
import { renderBody, type WireName } from './generators/index.ts'

const LINE = '2026-11-14T08:15:02.417Z INFO  dock.berth "B4" held by 9f3c1e07 in 184 ms, draught 7.2 m, queue=3\n'

/** `session`: results of a few kilobytes, as agents have them. `chatter`: nothing but short messages and small calls. */
export type Shape = 'session' | 'chatter'

/** A body of about `bytes` bytes. */
export function largeBody(wire: WireName, bytes: number, shape: Shape = 'session'): string {
  const steps: ScriptStep[] = []
  for (let size = 0, i = 0; size < bytes; i++) {
    const result = shape === 'chatter' ? `ok ${i}` : LINE.repeat(5 + ((i * 37) % 90))
    size += result.length * 1.06 + 420
    steps.push({
      reasoning: i % 3 === 0 ? 'The berth is taken; look at the queue and then at the tide table.' : undefined,
      text: `Step ${i}: reading the next part of the log.`,
      calls: [
        { name: 'read_file', args: { path: `logs/dock-${i}.log`, limit: 90 }, result, picture: false, failed: false },
      ],
      style: 3_001,
    })
  }
  const script: Script = {
    system: ['You are a harbour pilot.'],
    turns: [{ user: [{ part: 'text', text: 'Find out why B4 is late.' }], steps, answer: undefined, style: 3_001 }],
    tools: ['read_file', 'bash'],
    maxTokens: 4_096,
    style: 3_001,
  }
  return JSON.stringify(renderBody(wire, script))
}
