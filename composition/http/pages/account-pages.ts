import { releaseVersion } from '../../../core/platform/version.ts'
import { accountScripts } from './account-scripts.ts'
import { escapeHtml, pageIcon, pageStyle, inlineSource, staticAnswer } from './page-parts.ts'
import type { Answer } from '../answer/write-answer.ts'

const scriptPrefix = '/account/'

const policy = [
  "default-src 'none'",
  "script-src 'self'",
  `style-src ${inlineSource(pageStyle)}`,
  'img-src data:',
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join('; ')

interface AccountPage {
  readonly title: string
  readonly lead: string
  readonly parts: string
}

/** Returns a form without `action`: its script sends it, and the policy forbids any other submission. */
const form = (id: string, fields: string, button: string, hidden = false): string => `<form id="${id}" method="post" autocomplete="on"${hidden ? ' hidden' : ''}>
${fields}
<p><button type="submit">${button}</button></p>
</form>`

const field = (id: string, label: string, attributes: string, hint?: string): string =>
  `<p><label for="${id}">${label}</label><input id="${id}" ${attributes}${hint === undefined ? '' : ` aria-describedby="${id}-hint"`}>${hint === undefined ? '' : `<span class="hint" id="${id}-hint">${hint}</span>`}</p>`

const plainText = 'type="text" required spellcheck="false" autocapitalize="none"'
const codeRow = (isHidden: boolean): string => `<div id="code-row"${isHidden ? ' hidden' : ''}>
${field('code', 'Code from the mail', 'type="text" spellcheck="false" autocapitalize="none" autocomplete="off"')}
</div>`
const newPasswords = [
  field('new-password', 'New password', 'name="new-password" type="password" required autocomplete="new-password"'),
  field('new-password-again', 'New password, once more', 'name="new-password-again" type="password" required autocomplete="new-password"'),
].join('\n')
const done = '<p id="done" hidden><a href="/sign-in">Sign in</a></p>'

const signInParts = [
  form(
    'sign-in-form',
    [
      field('username', 'User name or e-mail address', `name="username" ${plainText} autocomplete="username"`),
      field('password', 'Password', 'name="password" type="password" required autocomplete="current-password"'),
      '<p><label class="check" for="remember"><input id="remember" name="remember" type="checkbox"> Keep me signed in on this device</label></p>',
      '<p><a href="/reset-password">Forgot your password?</a></p>',
    ].join('\n'),
    'Sign in',
    true,
  ),
  form(
    'code-form',
    field('one-time-code', 'One-time code', `name="one-time-code" ${plainText} autocomplete="one-time-code"`, 'From your authenticator app, or a recovery code.'),
    'Continue',
    true,
  ),
  form(
    'change-form',
    `${field('old-password', 'Password until now', 'name="old-password" type="password" required autocomplete="current-password"')}\n${newPasswords}`,
    'Change the password',
    true,
  ),
].join('\n')

const account = `<div id="account" hidden>
<h2 tabindex="-1">Signed in as <span id="login"></span></h2>
<p><a href="/api/v1/docs">API documentation</a></p>
<p><button id="sign-out" type="button">Sign out</button></p>
</div>`

const pages: Readonly<Record<string, AccountPage>> = {
  'confirm-email': {
    title: 'Confirm an e-mail address',
    lead: 'With this an address counts as yours.',
    parts: `${form('confirm-form', codeRow(false), 'Confirm this address')}\n${done}`,
  },
  'reset-password': {
    title: 'Set a new password',
    lead: 'With a code that is sent to a confirmed address of the account.',
    parts: [
      form('ask-form', field('email', 'E-mail address', 'name="email" type="email" required autocomplete="email"'), 'Send a mail'),
      form('reset-form', `${codeRow(true)}\n${newPasswords}`, 'Set the password', true),
      done,
    ].join('\n'),
  },
  'sign-in': { title: 'Sign in', lead: 'To this service, with this browser.', parts: `${signInParts}\n${account}` },
  'accept-invitation': {
    title: 'Invitation to an organization',
    lead: 'Sign in with an account that has confirmed the address that the mail went to.',
    parts: [
      form(
        'invitation-form',
        [
          '<h2 tabindex="-1" id="organization"></h2>',
          '<dl>',
          '<dt>Invited by</dt><dd id="inviter"></dd>',
          '<dt>As</dt><dd id="role"></dd>',
          '<dt>Address</dt><dd id="invited-email"></dd>',
          '<dt>Until</dt><dd id="expires"></dd>',
          '</dl>',
        ].join('\n'),
        'Accept the invitation',
        true,
      ),
      signInParts,
      account,
    ].join('\n'),
  },
}

const html = (name: string, { title, lead, parts }: AccountPage): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${title} - Moorage</title>
<link rel="icon" href="${pageIcon}">
<style>${pageStyle}</style>
<script type="module" src="${scriptPrefix}${name}.js"></script>
</head>
<body>
<main>
<h1>${title}</h1>
<p class="lead">${lead}</p>
<noscript><p>This page needs JavaScript. Everything that it does can be done with the <a href="/api/v1/docs">API</a> as well.</p></noscript>
<p id="message" class="message" role="status" aria-live="polite"></p>
${parts}
</main>
<footer><a href="/">Moorage</a> ${escapeHtml(releaseVersion)}</footer>
</body>
</html>
`

/** Returns the answer of a page. It must not be cached, since the address may contain a code. */
const pageAnswer = (name: string, page: AccountPage): Answer => ({
  status: 200,
  headers: { 'Content-Type': 'text/html; charset=utf-8', 'Content-Security-Policy': policy },
  body: html(name, page),
})

/**
 * Returns the pages that mails link to, the sign-in page, and their scripts, by path. They are ordinary clients of the API:
 * opening a page changes nothing.
 */
export const makeAccountPages = (): ((path: string) => Answer | undefined) => {
  const answers = new Map<string, Answer>()
  for (const [name, page] of Object.entries(pages)) answers.set(`/${name}`, pageAnswer(name, page))
  for (const [name, source] of Object.entries(accountScripts)) {
    answers.set(`${scriptPrefix}${name}`, staticAnswer('text/javascript; charset=utf-8', source))
  }
  return (path) => answers.get(path)
}
