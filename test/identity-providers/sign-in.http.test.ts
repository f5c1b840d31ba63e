import test from 'ava'
import type { SignInFixture } from './sign-in.fixture.ts'
import { startSignInFixture } from './sign-in.fixture.ts'

let fixture: SignInFixture
test.before(async () => {
  fixture = await startSignInFixture()
})
test.after.always(() => fixture.stop())

test('the first sign-in creates an account and opens a session', async (t) => {
  const id = await fixture.connect('site', { allows_creation: true })
  fixture.addPerson({ sub: 's1', email: 'nina@corp.test', email_verified: true, preferred_username: 'nina' })
  fixture.provider.as = 's1'
  const browser = fixture.browser()
  const answer = await browser.signIn(id)
  t.is(answer.status, 200, answer.text)
  t.deepEqual(answer.json, { login: 'nina', is_link: false })
  const profile = await browser.send('GET', '/user/settings/profile')
  t.is(profile.json.name, 'nina')
  const links = await browser.send('GET', '/user/settings/security/account_link')
  t.is(links.json[0].externalID, 's1')
  t.true(links.json[0].isSyncEnabled)
})
