export interface Check {
  readonly name: string
  readonly state: 'ok' | 'warn' | 'fail'
  readonly message: string
  readonly advice?: string
}

export const ok = (name: string, message: string): Check => ({ name, state: 'ok', message })
export const warn = (name: string, message: string, advice?: string): Check => ({
  name,
  state: 'warn',
  message,
  ...(advice !== undefined && { advice }),
})
export const fail = (name: string, message: string, advice: string): Check => ({ name, state: 'fail', message, advice })
