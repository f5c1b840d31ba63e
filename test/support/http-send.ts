import { Pool } from 'undici'
import type { Send } from '../../plugins/kit/client.ts'

/**
 * Connections by origin. Not those of undici's `request`: its agent closes the connections of an origin as soon as one
 * of them has ended, also those made since. After one answer that ends its connection, each request of the process
 * would make a connection.
 */
const pools = new Map<string, Pool>()

const poolOf = (origin: string): Pool => {
  const pool = pools.get(origin) ?? new Pool(origin)
  pools.set(origin, pool)
  return pool
}

/** A Send over undici to one server. Redirects are answers, not followed. */
export const httpSend =
  (baseUrl: string): Send =>
  async ({ method, path, headers, body }) => {
    const { origin, pathname, search } = new URL(path, baseUrl)
    const reply = await poolOf(origin).request({
      method: method as 'GET',
      path: pathname + search,
      headers,
      ...(body === undefined ? {} : { body }),
    })
    const bytes = new Uint8Array(await reply.body.arrayBuffer())
    return { status: reply.statusCode, headers: reply.headers, body: new TextDecoder().decode(bytes), bytes }
  }
