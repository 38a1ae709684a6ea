import type { Instructions } from '../../engine/instructions/index.ts'

/** Fixed for a session: a prompt that changed would throw the provider's cache away. */
export function systemPrompt(cwd: string, { merged, sources }: Pick<Instructions, 'merged' | 'sources'>): string {
  return [
    `You are a coding agent in a terminal. The working folder is ${cwd}.`,
    'Use the tools to look before you answer, and say briefly what you did. Results that were too long are shown as a preview with a handle: read more of them with the artifact tools. recall searches what is no longer in view.',
    ...(merged === '' ? [] : [`Instructions of the user and the project (${sources.join(', ')}):\n\n${merged.trim()}`]),
  ].join('\n\n')
}
