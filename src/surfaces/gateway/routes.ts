/** What a path asks for. Everything that is not `generate` passes through unchanged. */
export interface Route {
  readonly wire: string
  readonly action: 'generate' | 'count' | 'pass'
  /** Gemini names the model in the path. */
  readonly model?: string
}

const GEMINI = /\/models\/([^/:]+):(generateContent|streamGenerateContent|countTokens)$/

/** Reads the wire off a path, with or without the prefix that the proxy adds for it. */
export function routeOf(method: string, path: string): Route | undefined {
  const [pathname = ''] = path.split('?')
  if (method !== 'POST') return undefined
  if (pathname.endsWith('/messages')) return { wire: 'anthropic-messages', action: 'generate' }
  if (pathname.endsWith('/messages/count_tokens')) return { wire: 'anthropic-messages', action: 'count' }
  if (pathname.endsWith('/chat/completions')) return { wire: 'openai-chat', action: 'generate' }
  if (pathname.endsWith('/responses')) return { wire: 'openai-responses', action: 'generate' }
  const gemini = GEMINI.exec(pathname)
  if (gemini !== null) {
    return {
      wire: 'gemini',
      action: gemini[2] === 'countTokens' ? 'count' : 'generate',
      model: decodeURIComponent(gemini[1]!),
    }
  }
  return undefined
}
