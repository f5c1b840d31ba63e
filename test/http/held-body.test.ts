import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import test from 'ava'
import { adminLogin, adminPassword, startService, type TestService } from '../support/service.ts'

/** A body that is held back must not carry a right over the moment in which it is taken away. */
let service: TestService
test.before(async () => {
  service = await startService()
})
test.after.always(() => service.stop())

const personPassword = 'quiet-harbour-lantern-7'
const makePerson = async (login: string): Promise<string> => {
  const body = { username: login, email: `${login}@example.com`, password: personPassword, must_change_password: false }
  const made = await service.send('POST', '/api/v1/admin/users', { basic: [adminLogin, adminPassword], body })
  if (made.status !== 201) throw new Error(made.text)
  return service.tokenFor(login)
}

/** Sends a request but for the last bytes of its body. Answers how to send those and hear the status. */
const hold = async (method: string, path: string, token: string, value: object): Promise<() => Promise<number>> => {
  const body = JSON.stringify(value)
  const socket = connect(Number(new URL(service.baseUrl).port), '127.0.0.1')
  const lines = [`${method} ${path} HTTP/1.1`, 'Host: localhost', `Authorization: token ${token}`, 'Content-Type: application/json', `Content-Length: ${body.length}`, 'Connection: close', '', '']
  socket.write(lines.join('\r\n') + body.slice(0, 5))
  const chunks: Buffer[] = []
  socket.on('data', (chunk: Buffer) => chunks.push(chunk))
  await sleep(300)
  return async () => {
    await sleep(1_200)
    socket.write(body.slice(5))
    await once(socket, 'close')
    return Number(Buffer.concat(chunks).toString('latin1').split(' ')[1])
  }
}

test('a token that is revoked while a body is held back makes no other token', async (t) => {
  const token = await makePerson('holder')
  const other = await service.tokenFor('holder')
  const release = await hold('POST', '/api/v1/user/settings/tokens/access-tokens', token, { name: 'planted', expTime: 0 })
  const changed = await service.send('POST', '/api/v1/user/settings/account/password', {
    token: other,
    body: { old_password: personPassword, password: 'another-lantern-over-water-18', revoke_tokens: true },
  })
  t.is(changed.status, 200)
  t.is(await release(), 401)
})

test('a right that is taken away while a body is held back changes nothing any more', async (t) => {
  const [owner, editor] = [await makePerson('keeper'), await makePerson('former')]
  t.is((await service.send('POST', '/api/v1/orgs', { token: owner, body: { username: 'held' } })).status, 201)
  const role = (name: string) => service.send('PUT', '/api/v1/orgs/held/memberships/former', { token: owner, body: { role: name } })
  t.is((await role('owner')).status, 200)
  const release = await hold('PATCH', '/api/v1/orgs/held', editor, { description: 'mine' })
  t.is((await role('member')).status, 200)
  t.is(await release(), 403)
})

test('a slow body of someone who may is taken', async (t) => {
  const token = await makePerson('patient')
  const release = await hold('POST', '/api/v1/user/settings/tokens/access-tokens', token, { name: 'slow', expTime: 0 })
  t.is(await release(), 201)
})
