import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.List;
import java.util.stream.Collectors;
import org.openapitools.client.ApiClient;
import org.openapitools.client.ApiException;
import org.openapitools.client.ApiResponse;
import org.openapitools.client.api.AuthorizationApi;
import org.openapitools.client.api.IdentityOrganizationsTeamsApi;
import org.openapitools.client.api.IdentityUsersSettingsApi;
import org.openapitools.client.api.MiscellaneousApi;
import org.openapitools.client.model.*;

/** Calls the service with the client that openapi-generator generates for Java. */
public final class Calls {
  private static final String LOGIN = System.getenv("MOORAGE_LOGIN");
  private static final String NAME = System.getenv("MOORAGE_NAME");

  private static void say(String call, Object result) {
    System.out.println(call + ": " + result);
  }

  private interface Call {
    void make() throws ApiException;
  }

  private static void sayError(String call, Call made) throws Exception {
    try {
      made.make();
    } catch (ApiException refused) {
      var error = ApiClient.createDefaultObjectMapper().readValue(refused.getResponseBody(), org.openapitools.client.model.Error.class);
      say(call, refused.getCode() + " " + error.getCode() + " " + !error.getMessage().isEmpty());
      return;
    }
    throw new IllegalStateException(call);
  }

  private static ApiClient clientWith(String authorization) {
    var client = new ApiClient();
    client.updateBaseUri(System.getenv("MOORAGE_URL"));
    client.setRequestInterceptor(request -> request.header("Authorization", authorization));
    return client;
  }

  public static void main(String[] arguments) throws Exception {
    var asUser = clientWith("token " + System.getenv("MOORAGE_TOKEN"));
    var pair = (LOGIN + ":" + System.getenv("MOORAGE_PASSWORD")).getBytes(StandardCharsets.UTF_8);
    var withPassword = clientWith("Basic " + Base64.getEncoder().encodeToString(pair));
    var organizations = new IdentityOrganizationsTeamsApi(asUser);

    say("version", new MiscellaneousApi(asUser).platformGetVersion(null).getVersion());
    var users = new IdentityUsersSettingsApi(asUser);
    say("own user", users.identityGetCaller(null, null).getLogin());
    ApiResponse<UserSearchResult> page = users.identitySearchUsersWithHttpInfo(null, null, 2, 1, null);
    say("users", page.getData().getData().size() + " of " + page.getHeaders().get("x-total-count").get(0));
    var option = new CreateOrgOption().username(NAME).fullName("First");
    say("create organization", organizations.organizationsCreateOrganization(option, null, null, null, null).getFullName());
    var change = new EditOrgOption().fullName("Second");
    say("edit organization", organizations.organizationsEditOrganization(NAME, change, null, null, null, null, null).getFullName());
    say("get organization", organizations.organizationsGetOrganization(NAME, null).getFullName());
    teams(organizations);
    tokens(new IdentityUsersSettingsApi(withPassword));
    say("roles", new AuthorizationApi(asUser).authzListRoles(NAME, null, null, null).size());
    say("settings", new MiscellaneousApi(asUser).platformGetApiSettings(null).getMaxResponseItems());
    sayError("name in use", () -> organizations.organizationsCreateOrganization(option, null, null, null, null));
    say("delete organization", organizations.organizationsDeleteOrganizationWithHttpInfo(NAME, null, null, null).getStatusCode());
    sayError("deleted organization", () -> organizations.organizationsGetOrganization(NAME, null));
  }

  private static void teams(IdentityOrganizationsTeamsApi organizations) throws ApiException {
    var option = new CreateTeamOption().name("deployers").permission(CreateTeamOption.PermissionEnum.WRITE);
    var team = organizations.organizationsCreateTeam(NAME, option, null, null, null, null);
    say("create team", team.getName());
    List<Team> teams = organizations.organizationsListTeams(NAME, null, null, null);
    say("teams", teams.stream().map(Team::getName).sorted().collect(Collectors.joining(", ")));
    var added = organizations.organizationsAddTeamMemberWithHttpInfo(team.getId(), "ada", null, null, null, null);
    say("add member", added.getStatusCode());
    List<User> members = organizations.organizationsListTeamMembers(team.getId(), null, null, null);
    say("members", members.stream().map(User::getLogin).collect(Collectors.joining(", ")));
  }

  private static void tokens(IdentityUsersSettingsApi users) throws ApiException {
    var option = new CreateAccessTokenOption().name(NAME).scopes(List.of("all"));
    var token = users.identityCreateToken(LOGIN, option, null, null, null);
    say("create token", token.getName() + " " + !token.getSha1().isEmpty());
    List<AccessToken> tokens = users.identityListTokens(LOGIN, null, null, null);
    say("tokens", tokens.stream().anyMatch(each -> each.getId().equals(token.getId())));
    var deleted = users.identityDeleteTokenWithHttpInfo(LOGIN, String.valueOf(token.getId()), null, null);
    say("delete token", deleted.getStatusCode());
  }
}
