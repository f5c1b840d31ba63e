import { request } from 'undici'
import type { Send } from '../../plugins/kit/client.ts'

/** A Send over undici to one server. Redirects are answers, not followed. */
export const httpSend =
  (baseUrl: string): Send =>
  async ({ method, path, headers, body }) => {
    const reply = await request(new URL(path, baseUrl), { method: method as 'GET', headers, ...(body === undefined ? {} : { body }) })
    const bytes = new Uint8Array(await reply.body.arrayBuffer())
    return { status: reply.statusCode, headers: reply.headers, body: new TextDecoder().decode(bytes), bytes }
  }
