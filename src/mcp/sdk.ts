import { PlimsollError } from '../core/errors.ts'

export type Sdk = typeof import('@modelcontextprotocol/server')
export type StdioSdk = typeof import('@modelcontextprotocol/server/stdio')

const PACKAGE = '@modelcontextprotocol/server'

/** The official SDK is an optional package: it is loaded with the first server that is opened. @throws PlimsollError `unsupported` */
export const loadSdk = (load = async () => import('@modelcontextprotocol/server')): Promise<Sdk> => loaded(load)
export const loadStdio = (): Promise<StdioSdk> => loaded(async () => import('@modelcontextprotocol/server/stdio'))

async function loaded<T>(load: () => Promise<T>): Promise<T> {
  try {
    return await load()
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw cause
    throw new PlimsollError(
      'unsupported',
      `The MCP server needs the optional package ${PACKAGE}, which is not installed.`,
      {
        advice: `Install it with: npm install ${PACKAGE}`,
        fields: { package: PACKAGE },
        cause,
      },
    )
  }
}
