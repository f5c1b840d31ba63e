import test from 'ava'
import type { TypeOf } from 'io-ts'
import { adminEditUser } from '../../../plugins/identity/accounts/admin.routes.ts'
import {
  editProfile,
  editUserSettings,
  getProfile,
  getUserSettings,
} from '../../../plugins/identity/accounts/settings.routes.ts'
import type { UserSettingsOptions } from '../../../plugins/identity/accounts/codecs.ts'
import { addEmails, listEmails, removeEmails } from '../../../plugins/identity/emails/emails.routes.ts'
import type { Loose } from '../../../plugins/kit/client.ts'
import { clientAs, valueOf } from '../../support/client-as.ts'
import { makeHttpFixture } from './http-fixture.ts'

const fixture = makeHttpFixture()
const { clientOfAdmin, makeUser, send } = fixture
test.before(fixture.start)
test.after.always(fixture.stop)

test('taken, unknown and primary addresses are 422', async (t) => {
  await makeUser('mail')
  const token = await fixture.service.tokenFor('mail')
  const add = (emails: unknown) => send('POST', '/user/emails', { token, body: { emails } })
  const client = clientAs(fixture.service, { token })
  const added = await client.call(addEmails, { body: { emails: ['Second@Example.org'] } })
  t.is(added.status, 201)
  t.deepEqual(added.ok && added.value.map((email) => [email.email, email.verified, email.primary]), [
    ['mail@example.org', true, true],
    ['Second@example.org', false, false],
  ])
  for (const emails of [['bob@example.org'], ['SECOND@example.org'], ['nonsense'], [], 'x@y.org', [1]])
    t.is((await add(emails)).status, 422, JSON.stringify(emails))
  const remove = (emails: unknown) => send('DELETE', '/user/emails', { token, body: { emails } })
  for (const emails of [['mail@example.org'], ['bob@example.org'], ['unknown@example.org']])
    t.is((await remove(emails)).status, 422, JSON.stringify(emails))
  t.is((await client.call(removeEmails, { body: { emails: ['second@example.org'] } })).status, 204)
  t.is((await valueOf(client.call(listEmails))).total, 1)
})

test('absent settings stay, empty texts clear, and mistakes are 422', async (t) => {
  await makeUser('prof', { full_name: 'Prof' })
  const token = await fixture.service.tokenFor('prof')
  const client = clientAs(fixture.service, { token })
  t.like(await valueOf(client.call(editUserSettings, { body: { location: 'Here', website: 'https://x.example' } })), {
    full_name: 'Prof',
    location: 'Here',
  })
  t.like(await valueOf(client.call(editUserSettings, { body: { location: '' } })), {
    full_name: 'Prof',
    location: '',
    website: 'https://x.example',
  })
  for (const body of [
    { website: 'ftp://x' },
    { language: '??' },
    { full_name: 'x'.repeat(101) },
    { hide_email: 'yes' },
  ]) {
    t.is((await send('PATCH', '/user/settings', { token, body })).status, 422, JSON.stringify(body))
  }
  const profile = await valueOf(
    client.call(editProfile, {
      body: { name: 'prof', email: 'prof@example.org', description: 'd', keep_email_private: false },
    }),
  )
  t.like(profile, { name: 'prof', description: 'd', keep_email_private: false, email: 'prof@example.org' })
  t.is((await send('POST', '/user/settings/profile', { token, body: { name: 'other' } })).status, 422)
  t.deepEqual(await valueOf(client.call(getProfile)), profile)
})

test('a language is cleared or normalized, and interface keys are kept', async (t) => {
  await makeUser('polly')
  const token = await fixture.service.tokenFor('polly')
  const client = clientAs(fixture.service, { token })
  const edit = (body: Loose<TypeOf<typeof UserSettingsOptions>>) => valueOf(client.call(editUserSettings, { body }))
  const spellings = {
    de_de: 'de-DE',
    'EN-us': 'en-US',
    zh_hant_tw: 'zh-Hant-TW',
    fr: 'fr',
    'sr-latn': 'sr-Latn',
    en_t_jp: 'en-t-jp',
    '': '',
  }
  for (const [sent, kept] of Object.entries(spellings)) {
    t.is((await edit({ language: sent })).language, kept, sent)
  }
  t.is((await valueOf(client.call(getUserSettings))).language, '')
  t.is((await valueOf(client.call(editProfile, { body: { language: 'pt_br' } }))).language, 'pt-BR')
  t.is(
    (await valueOf(clientOfAdmin().call(adminEditUser, { params: { username: 'polly' }, body: { language: '' } })))
      .language,
    '',
  )
  const chosen = { theme: 'forgejo-dark', diff_view_style: 'split', hide_activity: true }
  t.like(await edit(chosen), chosen)
  t.like(await edit({ location: 'Leeds' }), { ...chosen, location: 'Leeds' })
  t.like(await valueOf(client.call(getUserSettings)), chosen)
  t.like(await edit({ theme: '' }), { ...chosen, theme: '' })
  for (const body of [
    { theme: 'x'.repeat(65) },
    { hide_activity: 'yes' },
    { diff_view_style: 7 },
    { language: 'de--de' },
    { language: 'd' },
  ])
    t.is((await send('PATCH', '/user/settings', { token, body })).status, 422, JSON.stringify(body))
})

test('clients of this family ask for keys at sign-in: there are none', async (t) => {
  await makeUser('keyless')
  const token = await fixture.service.tokenFor('keyless')
  for (const path of ['/user/keys', '/user/gpg_keys', '/user/keys?page=1&limit=50']) {
    const { status, text } = await send('GET', path, { token })
    t.deepEqual([status, text], [200, '[]\n'], path)
    t.is((await send('GET', path)).status, 401)
  }
})
