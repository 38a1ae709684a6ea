import { harmless } from './harmless.ts'
import { isPlimsollError } from '../../core/errors.ts'

/** One sentence on standard error: what is wrong and, where we know it, what to do. */
export function printError(problem: unknown): void {
  process.stderr.write(harmless(`plimsoll: ${sentenceOf(problem)}\n`))
}

export function sentenceOf(problem: unknown): string {
  if (typeof problem === 'string') return problem
  if (isPlimsollError(problem)) return problem.message
  const { message, stack } = problem instanceof Error ? problem : new Error(String(problem))
  if ((process.env['PLIMSOLL_DEBUG'] ?? '') !== '') return stack ?? message
  return `${message} (PLIMSOLL_DEBUG=1 prints the stack.)`
}
