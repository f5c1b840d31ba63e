import { Script } from 'node:vm'
import test from 'ava'
import { accountScripts } from '../../composition/http/pages/account-pages.ts'
import type { TestService } from '../support/service.ts'
import { startService } from '../support/service.ts'

const names = ['confirm-email', 'reset-password', 'sign-in', 'accept-invitation'] as const

let service: TestService
test.before(async () => {
  service = await startService()
})
test.after.always(async () => service?.stop())

const get = (path: string) => service.send('GET', path)
const idsIn = (html: string): readonly string[] => [...html.matchAll(/ id="([^"]+)"/g)].map((match) => match[1] ?? '')
/** The script and the files that it imports, as text. */
const scriptsOf = (file: string): readonly string[] => {
  const source = accountScripts[file]
  if (source === undefined) throw new Error(`there is no script ${file}`)
  return [source, ...[...source.matchAll(/ from '\.\/([^']+)'/g)].flatMap((match) => scriptsOf(match[1] ?? ''))]
}
const usedIds = (source: string): readonly string[] => [
  ...[...source.matchAll(/byId\('([^']+)'\)/g), ...source.matchAll(/onSubmit\('([^']+)'/g)].map((match) => match[1] ?? ''),
  ...[...source.matchAll(/show(?:Only|Part)\(([^()]*)\)/g), ...source.matchAll(/const parts = \[([^\]]*)\]/g)].flatMap((match) =>
    [...(match[1] ?? '').matchAll(/'([^']+)'/g)].map((quoted) => quoted[1] ?? ''),
  ),
]

for (const name of names) {
  test(`/${name} is a page that is not cached and runs scripts of this service only`, async (t) => {
    const { status, headers, text } = await get(`/${name}?code=Zk3vWq81`)
    t.is(status, 200)
    t.is(headers['content-type'], 'text/html; charset=utf-8')
    t.is(headers['cache-control'], 'no-store')
    t.is(headers['referrer-policy'], 'no-referrer')
    const policy = String(headers['content-security-policy'])
    for (const directive of ["default-src 'none'", "script-src 'self'", "connect-src 'self'", "form-action 'none'", "frame-ancestors 'none'", "base-uri 'none'"]) {
      t.true(policy.split('; ').includes(directive), directive)
    }
    t.false(policy.includes('unsafe'))
    t.false(text.includes('Zk3vWq81'), 'the code is not written into the page')
    t.notRegex(text, /<script>| on[a-z]+="| style="|(?:src|href|action)="(?:https?:)?\/\//)
    const script = /<script type="module" src="([^"]+)"><\/script>/.exec(text)?.[1] ?? ''
    t.is(script, `/account/${name}.js`)
  })

  test(`/${name}: every field has a label and says what belongs there, and what the script uses is there`, async (t) => {
    const html = (await get(`/${name}`)).text
    const ids = idsIn(html)
    t.is(new Set(ids).size, ids.length, 'ids are unique')
    t.true(ids.includes('message'))
    t.regex(html, /id="message"[^>]*aria-live="polite"/)
    for (const [input] of html.matchAll(/<input[^>]*>/g)) {
      const id = / id="([^"]+)"/.exec(input)?.[1] ?? ''
      t.true(html.includes(`for="${id}"`), input)
      if (!input.includes('type="checkbox"')) t.regex(input, / autocomplete="[^"]+"/)
      const hint = / aria-describedby="([^"]+)"/.exec(input)?.[1]
      t.true(hint === undefined || ids.includes(hint), input)
      t.is(/password/.test(id), input.includes('type="password"'), input)
    }
    const used = scriptsOf(`${name}.js`).flatMap(usedIds)
    t.true(used.length > 3)
    for (const id of used) t.true(ids.includes(id), id)
  })
}

test('each kind of secret tells browsers what it is', async (t) => {
  const hintsOn = async (name: string) => [...(await get(`/${name}`)).text.matchAll(/ autocomplete="([^"]+)"/g)].map((match) => match[1])
  for (const hint of ['username', 'current-password', 'new-password', 'one-time-code']) t.true((await hintsOn('sign-in')).includes(hint), hint)
  t.is((await hintsOn('reset-password')).filter((hint) => hint === 'new-password').length, 2)
})

test('the scripts are served as scripts, parse, and make no HTML out of text', async (t) => {
  for (const [file, source] of Object.entries(accountScripts)) {
    const answer = await get(`/account/${file}`)
    t.is(answer.headers['content-type'], 'text/javascript; charset=utf-8', file)
    t.is(answer.text, source)
    // As a module it may import, export and await at its top, which a plain script may not.
    const plain = source.replaceAll(/^import .*$/gm, '').replaceAll(/^export /gm, '')
    t.notThrows(() => new Script(`(async () => {${plain}\n})`), file)
    t.notRegex(source, /innerHTML|insertAdjacent|document\.write|eval\(|https?:/, file)
  }
})

test('opening a page of a mail does not use up its code: a GET changes nothing', async (t) => {
  for (const file of ['confirm-email.js', 'reset-password.js']) {
    const atOnce = (accountScripts[file] ?? '').split(/^onSubmit\(/m)[0] ?? ''
    t.notRegex(atOnce, /ask\(/, file)
  }
  t.notRegex((accountScripts['accept-invitation.js'] ?? '').split(/^const show = /m)[1] ?? '', /'PUT'/)
})

test('unknown names beside the pages are the start page, which leads to signing in', async (t) => {
  for (const path of ['/account/none.js', '/account/', '/sign-in/x', '/account/__proto__']) {
    const { status, text, headers } = await get(path)
    t.is(status, 200, path)
    t.is(headers['content-type'], 'text/html; charset=utf-8', path)
    t.true(text.includes('href="/sign-in"') && text.includes('href="/api/v1/docs"'), path)
  }
})
