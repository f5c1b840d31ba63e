import { byId, showOnly } from './kit.js'
import { signIn, signOut } from './sign-in-form.js'

byId('sign-out').addEventListener('click', async () => {
  byId('account').hidden = true
  await signOut()
})

await signIn((login) => {
  byId('login').textContent = login
  showOnly('account')
})
