import { ask, byId, onSubmit, showOnly, takeCode, tell } from './kit.js'
import { signIn, signOut } from './sign-in-form.js'

const path = '/user/invitations/' + encodeURIComponent(takeCode())
const hasCode = path !== '/user/invitations/'

byId('sign-out').addEventListener('click', async () => {
  byId('account').hidden = true
  byId('invitation-form').hidden = true
  await signOut()
})

onSubmit('invitation-form', async () => {
  const answer = await ask('PUT', path)
  if (answer.status !== 204) return tell(answer.message, true)
  byId('invitation-form').hidden = true
  tell('You are a member of ' + byId('organization').textContent + ' now.')
})

const show = async (login) => {
  byId('login').textContent = login
  byId('account').hidden = false
  const answer = await ask('GET', path)
  if (answer.status !== 200) return tell(answer.message, true)
  const { org, role, inviter, display_email, expires_at } = answer.json
  byId('organization').textContent = org.full_name === '' ? org.username : org.full_name + ' (' + org.username + ')'
  byId('role').textContent = role
  byId('inviter').textContent = inviter
  byId('invited-email').textContent = display_email
  byId('expires').textContent = new Date(expires_at).toLocaleString()
  showOnly('invitation-form')
  tell('')
}

if (hasCode) await signIn(show)
else tell('This page needs the link of the mail: open that link again.', true)
