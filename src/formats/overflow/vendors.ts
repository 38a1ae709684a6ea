import { BoundedMap } from '../../util/bounded-map.ts'

/**
 * Hosts of vendors, which refuse a prompt that is too long. Whatever else answers may be a server that drops the front of it without a word.
 */
const VENDOR_HOSTS =
  /(?:^|\.)(?:openai\.com|anthropic\.com|claude\.ai|googleapis\.com|azure\.com|amazonaws\.com|aliyuncs\.com|openrouter\.ai|mistral\.ai|deepseek\.com|x\.ai|groq\.com|cohere\.com|cohere\.ai|together\.ai|together\.xyz|fireworks\.ai|cerebras\.ai|perplexity\.ai|moonshot\.(?:ai|cn)|z\.ai|bigmodel\.cn|minimax(?:i)?\.(?:io|com|chat)|nvidia\.com|githubcopilot\.com|github\.ai|sambanova\.ai|deepinfra\.com|baseten\.co|vercel\.sh)$/

/** Whether a base URL is a vendor's. */
export function isVendor(endpoint: string): boolean {
  const known = judged.get(endpoint) ?? isVendorHost(endpoint)
  judged.set(endpoint, known)
  return known
}

/** Asked for every request, of the few endpoints that there are. */
const judged = new BoundedMap<string, boolean>(100)

function isVendorHost(endpoint: string): boolean {
  try {
    return VENDOR_HOSTS.test(new URL(endpoint).hostname)
  } catch {
    return false
  }
}
