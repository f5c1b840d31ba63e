import { ask, byId, onSubmit, showOnly, takeCode, tell } from './kit.js'

let code = takeCode()
if (code !== '') showOnly('reset-form', 'ask-form')

onSubmit('ask-form', async () => {
  const answer = await ask('POST', '/user/forgot-password', { email: byId('email').value.trim() })
  if (answer.status !== 202) return tell(answer.message, true)
  byId('code-row').hidden = false
  showOnly('reset-form', 'ask-form')
  tell('If the account exists, a mail is sent. Follow its link, or type its code here.')
})

onSubmit('reset-form', async () => {
  const [password, again] = [byId('new-password').value, byId('new-password-again').value]
  if (password !== again) return tell('The two passwords differ.', true)
  const answer = await ask('POST', '/user/reset-password', {
    code: code === '' ? byId('code').value.trim() : code,
    password,
  })
  if (answer.json.code === 'LinkCodeInvalid') {
    // The code is used up, too old or misspelt: only a new one helps.
    code = ''
    byId('code').value = ''
    byId('reset-form').hidden = false
    byId('ask-form').hidden = false
    byId('code-row').hidden = false
    tell(answer.message + ' Type another code, or have a new one sent.', true)
    return byId('email').focus()
  }
  if (answer.status !== 200) {
    tell(answer.message, true)
    return byId('new-password').focus()
  }
  code = ''
  byId('reset-form').reset()
  showOnly('done', 'reset-form')
  tell('The new password is set, and all sessions were ended.')
})
