import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import test from 'ava'
import { startService } from '../support/service.ts'

const freeAddress = async (): Promise<string> => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return `127.0.0.1:${port}`
}

test('where the operator says so, no access token is taken from the query string', async (t) => {
  const service = await startService({ settings: { MOORAGE_QUERY_TOKENS: 'false' } })
  try {
    for (const name of ['token', 'access_token']) {
      const answer = await service.send('GET', `/api/v1/user?${name}=${service.adminToken}`)
      t.is(answer.status, 401, name)
      t.regex(answer.json.message, /query string/)
    }
    t.is((await service.send('GET', '/api/v1/user', { token: service.adminToken })).status, 200)
  } finally {
    await service.stop()
  }
})

test('browsers are told to come by https where the base URL is https, on every answer', async (t) => {
  const address = await freeAddress()
  const service = await startService({ settings: { MOORAGE_BASE_URL: 'https://platform.example', MOORAGE_LISTEN: address } })
  const plain = await startService()
  try {
    for (const path of ['/', '/api/v1/version', '/api/v1/user', '/api/v1/nothing']) {
      t.is((await fetch(`http://${address}${path}`)).headers.get('strict-transport-security'), 'max-age=31536000', path)
    }
    t.is((await fetch(`${plain.baseUrl}/api/v1/version`)).headers.get('strict-transport-security'), null)
  } finally {
    await service.stop()
    await plain.stop()
  }
})
