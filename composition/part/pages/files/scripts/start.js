import { addCopyButtons, ask, byId, csrfToken, root } from './kit.js'

addCopyButtons()

// Without the cookie of a session no user is signed in.
const { status, json } =
  csrfToken() === undefined ? { status: 401, json: {} } : await ask('GET', '/user/settings/profile')
if (status === 200) {
  byId('caller').textContent = 'Signed in as ' + json.name + '.'
  const [link, text] = byId('entrance').children
  link.href = root + 'account'
  link.textContent = 'Your account'
  text.textContent = 'Profile, password, second factor, tokens and sessions'
}
