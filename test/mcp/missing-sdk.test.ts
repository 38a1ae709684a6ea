import { describe, expect, it } from 'vitest'
import { loadSdk } from '../../src/mcp/server.ts'

describe('without the optional package', () => {
  it('says what is missing and how to get it', async () => {
    const missing = Object.assign(new Error('Cannot find package'), { code: 'ERR_MODULE_NOT_FOUND' })
    await expect(loadSdk(() => Promise.reject(missing))).rejects.toMatchObject({
      code: 'unsupported',
      message:
        'The MCP server needs the optional package @modelcontextprotocol/server, which is not installed. ' +
        'Install it with: npm install @modelcontextprotocol/server',
    })
  })

  it('does not take another fault for that', async () => {
    await expect(loadSdk(() => Promise.reject(new SyntaxError('broken')))).rejects.toThrow('broken')
  })
})
