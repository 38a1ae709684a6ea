/**
 * Times one contender in a process of its own: `speed-run.ts <name> <file>` prints CPU milliseconds as JSON. The file holds the
 * messages and as many others to warm the code with, so that new text can be told from a cold start.
 */
import { readFileSync } from 'node:fs'
import { loadContender } from './contenders.ts'

const [name = '', file = ''] = process.argv.slice(2)
const { messages, others } = JSON.parse(readFileSync(file, 'utf8')) as { messages: string[]; others: string[][] }
const before = process.cpuUsage()
const count = await loadContender(name)
count('warm')
const load = since(before)
const cold = pass(messages)
for (let round = 0; round < 4; round++) pass(messages)
const again = Math.min(...Array.from({ length: 4 }, () => pass(messages).milliseconds))
// Every batch is text that this process has not seen; the code is warm by now.
const unseen =
  Math.min(...others.map((batch) => pass(batch).milliseconds / charactersOf(batch))) * charactersOf(messages)
console.log(JSON.stringify({ load, cold: cold.milliseconds, unseen, again, tokens: cold.total }))

function pass(texts: readonly string[]): { milliseconds: number; total: number } {
  const start = process.cpuUsage()
  let total = 0
  for (const text of texts) total += count(text)
  return { milliseconds: since(start), total }
}

function charactersOf(texts: readonly string[]): number {
  return texts.reduce((sum, text) => sum + text.length, 0)
}

function since(start: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(start)
  return (user + system) / 1000
}
