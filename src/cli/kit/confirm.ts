import { createInterface } from 'node:readline/promises'
import { PlimsollError } from '../../core/errors.ts'

/** Asks before something is deleted. Without a terminal nobody can answer, so `--yes` is needed. */
export async function confirmed(question: string, yes: boolean | undefined): Promise<void> {
  if (yes === true) return
  if (!process.stdin.isTTY)
    throw new PlimsollError('bad-input', 'This deletes data.', { advice: 'Use --yes to confirm it.' })
  const asking = createInterface({ input: process.stdin, output: process.stderr })
  try {
    const answer = await asking.question(`${question} [y/N] `)
    if (/^y(es)?$/i.test(answer.trim())) return
  } finally {
    asking.close()
  }
  throw new PlimsollError('closed', 'Nothing was deleted.')
}
