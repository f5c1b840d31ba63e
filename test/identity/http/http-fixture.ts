import { clientAs } from '../../support/client-as.ts'
import type { TestService } from '../../support/service.ts'
import { adminPassword, startService } from '../../support/service.ts'
import type { ServiceAnswer } from '../../support/send-json.ts'

export const password = 'a long passphrase'
export const newPassword = 'another long phrase'

/** A service with the users ada, bob and eve, and how they are asked about. */
export const makeHttpFixture = () => {
  let service: TestService | undefined
  const running = (): TestService => {
    if (service === undefined) throw new Error('the service has not started')
    return service
  }
  const send = (...args: Parameters<TestService['send']>) => running().send(args[0], `/api/v1${args[1]}`, args[2])
  const makeUser = (login: string, extra: object = {}) =>
    send('POST', '/admin/users', {
      token: running().adminToken,
      body: { username: login, email: `${login}@example.org`, password, ...extra },
    })
  return {
    get service(): TestService {
      return running()
    },
    send,
    makeUser,
    clientOf: async (login: string) => clientAs(running(), { token: await running().tokenFor(login) }),
    clientOfAdmin: () => clientAs(running(), { token: running().adminToken }),
    signIn: (username: string, text = password, extra: object = {}) =>
      send('POST', '/user/signin', { body: { username, password: text, ...extra } }),
    start: async () => {
      service = await startService()
      for (const login of ['ada', 'bob', 'eve']) await makeUser(login)
    },
    /** Stops the service. Rejects if a password or the token of the site admin is in its log. */
    stop: async () => {
      const text = running().logText()
      const told = [password, newPassword, adminPassword, running().adminToken].filter((value) => text.includes(value))
      await running().stop()
      if (told.length > 0) throw new Error(`the log has ${told.length} secrets`)
    },
  }
}

export const cookiesOf = (answer: ServiceAnswer): readonly string[] => [answer.headers['set-cookie'] ?? []].flat()
export const cookieValue = (answer: ServiceAnswer, name: string): string =>
  cookiesOf(answer)
    .find((cookie) => cookie.startsWith(`${name}=`))
    ?.slice(name.length + 1)
    .split(';')[0] ?? ''
/** What must not differ between two refusals: everything but the request's own id and the time. */
export const sameBytes = (answer: ServiceAnswer) => {
  const { 'x-request-id': _id, date: _date, 'ratelimit-remaining': _left, ...headers } = answer.headers
  return { status: answer.status, headers, text: answer.text.replace(/"requestId":"[^"]*"/, '') }
}
