import { request } from 'node:http'
import test from 'ava'
import * as t from 'io-ts'
import { read, signedIn } from '../../plugins/kit/access.ts'
import { handle } from '../../plugins/kit/handle.ts'
import { json } from '../../plugins/kit/reply.ts'
import { defineRoute } from '../../plugins/kit/route.ts'
import { startStubServer } from './stub-server.ts'

const waits = defineRoute({ id: 'stub.waits', method: 'GET', path: '/waits', summary: 's', tag: 'Miscellaneous', access: signedIn, scope: read('misc'), failures: [], ok: json(200, t.string, 'x') })

/** A request whose client leaves once the handler runs; answers what was logged for it. */
const leave = async (fail: (signal: AbortSignal) => unknown): Promise<readonly { readonly level: string; readonly fields: Readonly<Record<string, unknown>> }[]> => {
  const begun = Promise.withResolvers<void>()
  const server = await startStubServer([
    handle(waits, (call) => new Promise<never>((_, reject) => {
      call.signal.addEventListener('abort', () => reject(fail(call.signal) as Error))
      begun.resolve()
    })),
  ])
  const asked = request(`${server.baseUrl}/api/v1/waits`, { headers: { authorization: 'token good' } }).on('error', () => undefined)
  asked.end()
  await begun.promise
  asked.destroy()
  while (!server.lines.some(({ fields }) => JSON.stringify(fields).includes('stub.waits'))) await new Promise((resolve) => setImmediate(resolve))
  await server.stop()
  return server.lines
}

test('work that ends because its client left is no error', async (assert) => {
  const lines = await leave((signal) => signal.reason)
  assert.deepEqual(lines.filter(({ level }) => level === 'error'), [])
})

test('what breaks while a client leaves is one all the same', async (assert) => {
  const lines = await leave(() => new Error('broken'))
  assert.is(lines.filter(({ level }) => level === 'error').length, 1)
})
