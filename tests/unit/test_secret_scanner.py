"""The scanner: well-formed fakes are found, ordinary text is left alone. Fakes are made at run time: none stands in
this file."""

import base64
import random
import re
import string
import time
from pathlib import Path

import pytest
from cases import each
from hypothesis import given
from hypothesis import strategies as st
from processor import untraced

from gateway.secrets import scanner as secret_scanner
from gateway.secrets.rules import find_rules
from gateway.secrets.scanner import RuleScanner, find_kinds
from protocol.seams.ports import SecretScanner

SCANNER: SecretScanner = RuleScanner()
DICE = random.Random(20260521)
LETTERS = string.ascii_letters + string.digits
HEX = "0123456789abcdef"
UPPER = string.ascii_uppercase + string.digits


def rnd(length: int, alphabet: str = LETTERS) -> str:
    """Random characters with at least one digit and one letter."""
    return (
        "7"
        + "".join(DICE.choice(alphabet) for _ in range(length - 2))
        + "b" * ("b" in alphabet)
        + "B" * ("b" not in alphabet)
    )


TOKENS = [
    ("age_secret_key", "AGE-SECRET-" + "KEY-1" + rnd(58, UPPER)),
    ("aws_access_key", "AK" + "IA" + rnd(16, UPPER)),
    ("aws_access_key", "AS" + "IA" + rnd(16, UPPER)),
    *(("github_token", f"gh{letter}_" + rnd(36)) for letter in "pousr"),
    ("github_token", "github_" + "pat_" + rnd(22) + "_" + rnd(59)),
    *(("gitlab_token", f"gl{part}-" + rnd(20)) for part in ("pat", "dt", "rt", "ptt")),
    *(("slack_token", f"xox{letter}-" + rnd(12, string.digits) + "-" + rnd(24)) for letter in "baprs"),
    ("slack_token", "xa" + "pp-1-A" + rnd(10, UPPER) + "-" + rnd(40, HEX)),
    ("stripe_key", "sk_" + "live_" + rnd(24)),
    ("stripe_key", "rk_" + "live_" + rnd(24)),
    ("stripe_key", "sk_" + "test_" + rnd(99)),
    ("stripe_webhook_secret", "whs" + "ec_" + rnd(32)),
    ("google_api_key", "AI" + "za" + rnd(35)),
    ("google_oauth_secret", "GOC" + "SPX-" + rnd(28)),
    ("google_oauth_token", "ya" + "29." + rnd(60)),
    ("anthropic_key", "sk-" + "ant-api03-" + rnd(93) + "AA"),
    ("openrouter_key", "sk-" + "or-v1-" + rnd(64, HEX)),
    ("openai_key", "s" + "k-" + rnd(48)),
    ("openai_key", "sk-" + "proj-" + rnd(74) + "_" + rnd(73)),
    ("huggingface_token", "h" + "f_" + rnd(34)),
    ("groq_key", "gs" + "k_" + rnd(52)),
    ("perplexity_key", "pp" + "lx-" + rnd(48)),
    ("xai_key", "xa" + "i-" + rnd(80)),
    ("replicate_token", "r" + "8_" + rnd(37)),
    ("langsmith_key", "lsv2" + "_pt_" + rnd(32, HEX) + "_" + rnd(10, HEX)),
    ("npm_token", "np" + "m_" + rnd(36)),
    ("pypi_token", "py" + "pi-AgEIcHlwaS5vcmc" + rnd(120)),
    ("rubygems_key", "ruby" + "gems_" + rnd(48, HEX)),
    ("crates_token", "c" + "io" + rnd(32)),
    ("sendgrid_key", "S" + "G." + rnd(22) + "." + rnd(43)),
    ("twilio_key", "S" + "K" + rnd(32, HEX)),
    ("digitalocean_token", "do" + "p_v1_" + rnd(64, HEX)),
    ("telegram_bot_token", "7" + "123456789:A" + "A" + rnd(33)),
    ("discord_token", "M" + rnd(23) + "." + rnd(6) + "." + rnd(38)),
    ("jwt", "ey" + "JhbGciOiJIUzI1NiJ9.ey" + "JzdWIiOiIxIn0." + rnd(43)),
    ("azure_storage_key", "AccountName=x;Account" + "Key=" + rnd(86) + "=="),
    ("azure_client_secret", rnd(3) + "8Q" + "~" + rnd(34)),
    ("azure_sas_signature", "https://x.blob.core.windows.net/c?sv=1&s" + "ig=" + rnd(43) + "%3D"),
    ("mailgun_key", "k" + "ey-" + rnd(32, HEX)),
    ("mailchimp_key", rnd(32, HEX) + "-u" + "s14"),
    ("brevo_key", "xkey" + "sib-" + rnd(64, HEX) + "-" + rnd(16)),
    *(("shopify_token", f"shp{part}_" + rnd(32, HEX)) for part in ("at", "ca", "pa", "ss")),
    ("linear_key", "lin" + "_api_" + rnd(40)),
    ("notion_token", "nt" + "n_" + rnd(46)),
    ("notion_token", "sec" + "ret_" + rnd(43)),
    ("databricks_token", "da" + "pi" + rnd(32, HEX)),
    ("vault_token", "hv" + "s." + rnd(90)),
    ("docker_token", "dckr" + "_pat_" + rnd(27)),
    ("square_token", "sq0" + "csp-" + rnd(43)),
    ("square_token", "EA" + "AA" + rnd(60)),
    ("facebook_token", "EA" + "AB" + rnd(120)),
    ("doppler_token", "dp" + ".pt." + rnd(43)),
    ("new_relic_key", "NR" + "AK-" + rnd(27, UPPER)),
    ("grafana_token", "gl" + "sa_" + rnd(32) + "_" + rnd(8, HEX)),
    ("postman_key", "PM" + "AK-" + rnd(24, HEX) + "-" + rnd(34, HEX)),
    ("sentry_token", "sn" + "trys_" + rnd(80)),
    ("planetscale_token", "pscale" + "_tkn_" + rnd(43)),
    ("pulumi_token", "pu" + "l-" + rnd(40, HEX)),
    ("terraform_token", rnd(14) + ".atlas" + "v1." + rnd(67)),
    ("atlassian_token", "AT" + "ATT3" + rnd(180)),
    ("figma_token", "fi" + "gd_" + rnd(40)),
    ("supabase_token", "sb" + "p_" + rnd(40, HEX)),
    ("airtable_token", "pa" + "t" + rnd(14) + "." + rnd(64, HEX)),
    ("tailscale_key", "ts" + "key-auth-" + rnd(16) + "-" + rnd(32)),
    ("heroku_key", "HR" + "KU-" + rnd(60)),
    ("alibaba_access_key", "LT" + "AI" + rnd(20)),
    ("onepassword_token", "op" + "s_ey" + "J" + rnd(200)),
]
"""The whole text is the credential."""

ALPHABETS = {
    "a": LETTERS,
    "h": HEX,
    "u": UPPER,
    "d": string.digits,
    "l": string.ascii_lowercase + string.digits,
    "b": string.ascii_uppercase + "234567",
    "x": "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz",
    "n": "023456789acdefghjklmnpqrstuvwxyz",
}


def shaped(shape: str) -> str:
    """The shape with each `{a36}` replaced by that many random characters of an alphabet, and `{uuid}` by a UUID."""
    shape = shape.replace("{uuid}", "{h8}-{h4}-{h4}-{h4}-{h12}")
    return re.sub(r"\{([a-z])([0-9]+)\}", lambda m: "".join(DICE.choices(ALPHABETS[m[1]], k=int(m[2]))), shape)


SHAPES = {
    "aws_session_token": "IQoJb3JpZ2lu{a200}",
    "aws_bedrock_key": "ABSK{a110}",
    "azure_devops_token": "{a76}AZDO{a4}",
    "google_refresh_token": "1//0{a60}",
    "google_fcm_key": "AAAA{a7}:APA91b{a120}",
    "cloudflare_key": "v1.0-{h24}-{h146}",
    "tencent_secret_id": "AKID{a32}",
    "yandex_token": "y0_{a50}",
    "scaleway_key": "SCW{u17}",
    "exoscale_key": "EXO{h26}",
    "flyio_token": "fm2_{a120}",
    "render_key": "rnd_{a28}",
    "netlify_token": "nfp_{a36}",
    "vercel_token": "vcp_{a40}",
    "neon_key": "napi_{l64}",
    "mongodb_service_secret": "mdb_sa_sk_{a40}",
    "aiven_password": "AVNS_{a20}",
    "cockroach_key": "CCDB1_{a22}_{a40}",
    "xata_key": "xau_{a40}",
    "snyk_token": "snyk_uat.{h8}.{a60}",
    "fauna_secret": "fnA{a37}",
    "kubernetes_token": "sha256~{a43}",
    "bitbucket_password": "ATBB{a32}",
    "nuget_key": "oy2{l43}",
    "clojars_token": "CLOJARS_{l60}",
    "hex_key": "hex_{a40}",
    "artifactory_key": "AKCp{a69}",
    "jetbrains_token": "perm:{a20}.{a12}.{a40}",
    "circleci_token": "CCIPAT_{a22}_{h40}",
    "buildkite_token": "bkua_{h40}",
    "harness_token": "pat.{a22}.{h24}.{a20}",
    "octopus_key": "API-{u28}",
    "sonar_token": "squ_{h40}",
    "sourcegraph_token": "sgp_{h16}_{h40}",
    "infracost_key": "ico-{a32}",
    "prefect_key": "pnu_{a36}",
    "launchdarkly_key": "sdk-{uuid}",
    "readme_key": "rdme_{l70}",
    "onepassword_secret_key": "A3-{u6}-{u11}-{u5}-{u5}-{u5}",
    "paseto": "v4.local.{a120}",
    "langfuse_key": "sk-lf-{uuid}",
    "openai_session": "sess-{a40}",
    "together_key": "tgp_v1_{a43}",
    "fireworks_key": "fw_{a24}",
    "nvidia_key": "nvapi-{a64}",
    "pinecone_key": "pcsk_{a6}_{a60}",
    "elevenlabs_key": "sk_{h48}",
    "tavily_key": "tvly-dev-{a32}",
    "jina_key": "jina_{a60}",
    "voyage_key": "pa-{a43}",
    "firecrawl_key": "fc-{h32}",
    "cerebras_key": "csk-{l48}",
    "wandb_key": "wandb_v1_{a80}",
    "e2b_key": "e2b_{h40}",
    "matrix_token": "syt_{a8}_{a20}_{a6}",
    "mandrill_key": "md-{a22}",
    "mailersend_key": "mlsn.{h64}",
    "resend_key": "re_{a8}_{a24}",
    "intercom_token": "dG9rO{a54}=",
    "hubspot_token": "pat-eu1-{uuid}",
    "typeform_token": "tfp_{a60}",
    "asana_token": "2/{d16}/{d16}:{h32}",
    "clickup_token": "pk_{d8}_{u32}",
    "trello_token": "ATTA{h64}",
    "contentful_token": "CFPAT-{a43}",
    "twitch_token": "oauth:{l30}",
    "twitter_bearer": "AAAAAAAAAAAAAAAAAAAA{a28}%3D{a50}",
    "twitter_token": "{d19}-{a40}",
    "linkedin_secret": "WPL_AP1.{a16}.{a6}==",
    "dropbox_token": "sl.{a130}",
    "apify_key": "apify_api_{a36}",
    "lichess_token": "lip_{a20}",
    "courier_key": "pk_prod_{u28}",
    "paypal_token": "access_token$production${l16}${h32}",
    "razorpay_key": "rzp_live_{a14}",
    "easypost_key": "EZAK{a54}",
    "flutterwave_key": "FLWSECK-{l32}-X",
    "paddle_key": "pdl_live_apikey_{a50}",
    "plaid_token": "access-production-{uuid}",
    "shippo_token": "shippo_live_{h40}",
    "duffel_token": "duffel_live_{a43}",
    "lob_key": "live_{h35}",
    "mollie_key": "live_{a30}",
    "gocardless_token": "sandbox_{a40}",
    "adyen_key": "AQE{a4}{a80}-{a43}=-{a16}",
    "bitcoin_key": "L{x51}",
    "wallet_extended_key": "xprv{x107}",
    "nostr_key": "nsec1{n58}",
    "stellar_seed": "S{b55}",
    "dynatrace_token": "dt0c01.{u24}.{u64}",
    "datadog_key": "ddapp_{a34}",
    "posthog_key": "phx_{a43}",
    "mapbox_token": "sk.eyJ{a80}.{a22}",
    "dnkey": "dnkey-{a26}-{a52}",
    "scalingo_token": "tk-us-{a48}",
}
"""A credential of each kind that its vendor made recognisable."""
TOKENS += [(kind, shaped(shape)) for kind, shape in SHAPES.items()]

ARMOUR = "-" * 5
KEY_BODY = "\n".join(rnd(64) for _ in range(6))
W = "hunter" + "2!"
KEY32 = rnd(32)
PLACED = [
    ("private_key", f"{ARMOUR}BEGIN RSA PRIVATE KEY{ARMOUR}\n{KEY_BODY}\n{ARMOUR}END RSA PRIVATE KEY{ARMOUR}", "{}"),
    ("private_key", f"{ARMOUR}BEGIN OPENSSH PRIVATE KEY{ARMOUR}\n{KEY_BODY}", "my key:\n{}\n"),
    (
        "private_key",
        f"{ARMOUR}BEGIN PGP PRIVATE KEY BLOCK{ARMOUR}\n{KEY_BODY}\n{ARMOUR}END PGP PRIVATE KEY BLOCK{ARMOUR}",
        "{} ok?",
    ),
    (
        "private_key",
        f"{ARMOUR}BEGIN PRIVATE KEY{ARMOUR}\\n{rnd(64)}\\n{ARMOUR}END PRIVATE KEY{ARMOUR}",
        '{{"key": "{}"}}',
    ),
    ("aws_secret_key", rnd(40), "aws_secret_access_key = {}"),
    ("aws_secret_key", rnd(40), 'AWS_SECRET_ACCESS_KEY="{}"'),
    ("slack_webhook", f"T{rnd(8, UPPER)}/B{rnd(8, UPPER)}/{rnd(24)}", "https://hooks.slack.com/services/{}"),
    ("discord_webhook", f"{rnd(18, string.digits)[:-1]}0/{rnd(68)}", "https://discord.com/api/webhooks/{}"),
    ("twilio_auth_token", rnd(32, HEX), "twilio auth token {}"),
    ("basic_auth_url", W, "https://bob:{}@example.org/x"),
    ("connection_string", "Tr0ub4dor", "postgres://admin:{}@db.example.org:5432/app"),
    ("connection_string", "Tr0ub4dor", "mongodb+srv://admin:{}@cluster0.example.org"),
    ("connection_string", "p4ss", "redis://:{}@cache:6379/0"),
    ("authorization", rnd(40), "Authorization: Bearer {}"),
    ("authorization", base64.b64encode(b"bob:" + W.encode()).decode(), "authorization: Basic {}"),
    ("password", "Gx7!kk2p", "login/password {}"),
    ("password", "Gx7!kk2p", "/etc/passwd: {}"),
    ("password", W, "password is {}"),
    ("password", W, "My password is {} and I like tea"),
    ("password", W, "The password for the staging box: {}"),
    ("password", W, "pwd={}"),
    ("password", W, "password → {}".replace("→", "->")),
    ("password", "Sunny-Day42", "the wifi password is {}."),
    ("password", "Hunter" + "22", "I just changed my password to {}"),
    ("password", "correct horse battery staple", 'my passphrase is "{}"'),
    ("password", "sword" + "fish", "password: {}"),
    ("password", "sword" + "fish", "my password is {}."),
    ("password", "s3cr3t" + "V@lue", "DB_PASSWORD={}"),
    ("password", "Foo9bar" + "!", "mysql -u root --password={}"),
    ("password", "Foo9bar" + "!", "Server=x;User Id=sa;Password={};"),
    ("password", "letmein", "password = '{}'"),
    ("password", W, "db:\n  password: >\n    {}\n  port: 1\n"),
    ("password", W, "db:\r\n  db_password: |2-\r\n      {}\r\n"),
    ("password", W, "**Password:**\n\n    {}\n\nKeep it."),
    ("password", W, "Passwort:\n\n\t{}"),
    ("password", "Zima" + "2025!", "мой пароль {}"),
    ("password", "Zima" + "2025!", "Пароль: {}"),
    ("password", "Zima" + "2025!", "пароль от почты — {}"),
    ("password", "Лето" + "2025", "Новый пароль теперь {}"),
    ("password", "qwerty" + "12", "Кодовое слово: {}"),
    ("password", "Sommer" + "2024", "Das Passwort ist {}"),
    ("password", "Sommer" + "2024", "Mein Kennwort lautet {}."),
    ("password", "gato" + "123", "La contraseña es {}"),
    ("password", "Perro!" + "77", "mi clave del banco es {}"),
    ("password", "Soleil" + "99", "Le mot de passe est {}"),
    ("password", "Soleil" + "99", "mdp : {}"),
    ("password", "praia" + "2020", "minha senha é {}"),
    ("password", "abc" + "12345", "密码是{}"),
    ("password", "abc" + "12345", "パスワードは {}"),
    ("pin", "4821", "my pin is {}"),
    ("pin", "4821", "My card PIN: {}."),
    ("password", W, "{} is my password"),
    ("password", W, "please use {} as the password"),
    ("password", "Tiger#Blue" + "88", "netflix login: bob@example.com / {}"),
    ("password", "Passw0rd" + "!", "user admin, pass {}"),
    ("password", "S3cret" + "99", "curl -u admin:{} https://api.example.com"),
    ("password", "Gre3n" + "Apple", "sshpass -p '{}' ssh host"),
    ("wallet_key", "0x" + rnd(64, HEX), "my wallet: private key {}"),
    ("aws_signature", rnd(64, HEX), "https://x.s3.amazonaws.com/y?X-Amz-Signature={}"),
    ("okta_token", "00" + rnd(40), "Authorization: SSWS {}"),
    ("kubernetes_bootstrap_token", shaped("{l6}.{l16}"), "kubeadm join --token {}"),
    ("jenkins_token", "11" + rnd(32, HEX), "curl -s https://jenkins.example.org/me/{}"),
    ("travis_token", rnd(22), "travis login with token {}"),
    (
        "teams_webhook",
        shaped("{uuid}@{uuid}/IncomingWebhook/{h32}/{uuid}"),
        "https://x.webhook.office.com/webhookb2/{}",
    ),
    (
        "ansible_vault",
        "$ANSIBLE" + "_VAULT;1.1;AES256\n" + "\n".join(rnd(80, HEX) for _ in range(3)),
        "{}",
    ),
    ("docker_auth", base64.b64encode(b"bob:" + W.encode()).decode(), '{{"auths": {{"x": {{"auth": "{}"}}}}}}'),
    ("totp_seed", shaped("{b32}"), "otpauth://totp/x:bob?secret={}&issuer=x"),
    ("totp_seed", "jbsw y3dp ehpk 3pxp", "my 2fa setup key is {}"),
    ("wifi_password", "Marble00" + "!x", "WIFI:T:WPA;S:Cafe;P:{};;"),
    ("pgpass", "Wq7" + "!zzkL", "db.example.org:5432:*:bob:{}"),
    ("one_time_code", "552901", "Your verification code is {}."),
    ("one_time_code", "552901", "Dein Bestätigungscode lautet {}"),
    ("one_time_code", "552901", "您的验证码是{}"),
    ("one_time_code", "552901", "код подтверждения: {}"),
    ("session_cookie", rnd(40), "Cookie: theme=dark; sid={}"),
    ("backup_codes", shaped("{h5}-{h5}\n{h5}-{h5}\n{h5}-{h5}\n{h5}-{h5}"), "my recovery codes:\n{}"),
    ("password", "Wq7" + "!zzkL", "smtp.login('bob@example.org', '{}')"),
    ("password", "Wq7" + "!zzkL", "mysql -h db -u root -p{} shop"),
    ("password", "Wq7" + "!zzkL", "<password>{}</password>"),
    ("password", "Wq7" + "!zzkL", "$cfg['password'] = '{}';"),
    ("password", "Wq7" + "!zzkL", "echo {} | sudo -S true"),
    ("password", "r=Ik~6" + "EHLV6i", "'password' => '{}',"),
    ("api_key", KEY32, "vercel deploy --token {}"),
    ("api_key", KEY32, "client = MistralClient('{}')"),
    ("api_key", KEY32, "X-Api-Key: {}"),
    ("vault_token", "s." + rnd(24), "vault login {}"),
    ("pin", "2291", "gate code {}"),
    ("pin", "7741", "пин от карты {}"),
    ("pin", "7741", "{} is my PIN"),
    ("pin", "12-34-56", "the safe combination is {}"),
    ("pin", "4821", "пин-код {}"),
    ("pin", "4821", "Мой пинкод: {}"),
    ("pin", "4821", "Meine PIN ist {}"),
    ("pin", "4821", "le code secret est {}"),
    ("pin", "482913", "the alarm code for the office is {}"),
    ("pin", "12345678", "my password is {}"),
    ("card_security_code", "123", "cvv: {}"),
    ("api_key", KEY32, 'api_key = "{}"'),
    ("api_key", KEY32, "my api key is {}"),
    ("api_key", KEY32, "s:\n  aws_secret_access_key:\n    {}\n"),
    ("api_key", KEY32, "client_secret: >-\n        {}\n"),
    ("api_key", KEY32, "export SERVICE_TOKEN={}"),
    ("api_key", KEY32, 'clientSecret: "{}",'.replace("S", "_s")),
    ("api_key", KEY32, "токен: {}"),
    ("seed_phrase", "apple brave crane delta eagle flame grape honey igloo joker koala lemon", "seed phrase: {}"),
    ("social_security_number", "078-05-" + "1120", "my ssn is {}"),
    ("credit_card", "4111 1111 " + "1111 1111", "card {} exp 12/27"),
    ("credit_card", "411111111111" + "1111", "my visa is {}"),
    ("credit_card", "3782-822463-" + "10005", "{}"),
    ("credit_card", "5555 5555 " + "5555 4444", "номер карты {}"),
    ("national_id", "529.982." + "247-25", "meu CPF {}, por favor"),
    ("password_hash", "$apr1$h6Dk2l9x$Rk2b" + "Pq8Zt1vU5wXyZaBcD0", "admin:{}"),
    ("iban", "DE89 3704 0044 " + "0532 0130 00", "IBAN {} please"),
    ("iban", "GB82WEST1234" + "5698765432", "{}"),
    ("iban", "NL91ABNA" + "0417164300", "to {}, thanks"),
]
"""The secret in its place."""

INNOCENT = Path(__file__).with_name("innocent_sentences.txt").read_text(encoding="utf-8").splitlines()


def spans(text: str) -> list[tuple[str, str]]:
    return [(span.kind, text[span.start : span.end]) for span in SCANNER.find(text)]


PLACES = ["{}", "here it is: {} thanks", "line\n{}\nline", '"{}"', "({})", "Вот {}, держи"]


@each(("kind", "secret", "place"), [(*token, place) for token in TOKENS for place in PLACES])
def test_token_of_a_vendor_is_found_wherever_it_stands(kind: str, secret: str, place: str):
    found = SCANNER.find(place.format(secret))
    assert kind in {span.kind for span in found}
    assert secret not in SCANNER.mask(place.format(secret))


@each(("kind", "secret", "place"), PLACED)
def test_secret_in_context_is_found_and_only_it(kind: str, secret: str, place: str):
    assert spans(place.format(secret)) == [(kind, secret)]


@each("text", INNOCENT)
def test_innocent_text_passes(text: str):
    assert spans(text) == []


def test_there_is_enough_innocent_text_and_every_kind_is_shown():
    assert len(INNOCENT) >= 150
    assert {kind for kind, *_ in TOKENS + PLACED} == find_kinds()


def test_innocent_lines_stay_innocent_together():
    assert spans("\n".join(INNOCENT)) == []


HIDDEN = [
    ("p\u200ba\u200cs\u200ds\u2060word is hun\ufeffter" + "2!", "password"),
    ("\uff50\uff41\uff53\uff53\uff57\uff4f\uff52\uff44: " + W, "password"),
    ("pass\u00adword is \u202e" + W, "password"),
    ("gh" + "p_" + rnd(18) + "\n" + rnd(18), "github_token"),
    ("gh" + "p_" + rnd(18) + " \\\r\n    " + rnd(18), "github_token"),
    ("> AK" + "IA" + rnd(8, UPPER) + "\n> " + rnd(8, UPPER), "aws_access_key"),
    ("gh\u2060" + "p_" + "\u200b".join(rnd(36)), "github_token"),
    ("g h p _ " + " ".join(rnd(36)), "github_token"),
    (
        "the google key AI" + "zaSy" + "ab " + shaped("{a8} {a8} {a8} {a7}"),
        "google_api_key",
    ),
    ('token = "gh' + 'p_" + \\\n    "' + rnd(36) + '"', "github_token"),
    ("%67%68p%5" + "F" + rnd(36), "github_token"),
    ("\\x67\\x68p_" + rnd(36), "github_token"),
    (("gh" + "p_" + rnd(36)).encode().hex(), "github_token"),
    (base64.b64encode(("token gh" + "p_" + rnd(36)).encode()).decode(), "github_token"),
    (base64.urlsafe_b64encode(("my password is " + W).encode()).decode().rstrip("="), "password"),
    ("La contrasen\u0303a es gato" + "123", "password"),
    ("password: \u201c" + W + "\u201d", "password"),
]


@each(("text", "kind"), HIDDEN)
def test_hiding_does_not_help(text: str, kind: str):
    assert [k for k, _ in spans(text)] == [kind]


def test_spans_are_told_in_the_original_text():
    text = "\u200b\ufb01ne: \uff50assword is hun\u200bter" + "2! ok"
    assert SCANNER.mask(text) == "\u200b\ufb01ne: \uff50assword is [secret:password] ok"


def test_two_secrets_in_one_text():
    text = f"pin is 4821, card 4111 1111 {1111} 1111, {TOKENS[3][1]}"
    assert SCANNER.mask(text) == "pin is [secret:pin], card [secret:credit_card], [secret:github_token]"


def test_a_marker_hides_nothing_but_itself():
    assert SCANNER.find("password: [secret:password]") == []
    assert SCANNER.mask("password: [secret:password]") == "password: [secret:password]"
    assert SCANNER.find("password: [secret:" + W + "]") != []
    assert W not in SCANNER.mask("[secret:pin] password: " + W)


@pytest.mark.parametrize("number", ["4111 1111 1111 1112", "1111 1111 1111 1111", "0000 0000 0000 0000"])
def test_number_that_fails_its_check_is_no_card(number: str):
    assert spans(f"my card is {number}") == []


@pytest.mark.parametrize("account", ["DE89 3704 0044 0532 0130 01", "ZZ82WEST12345698765432", "GB82WEST1234569876"])
def test_number_that_fails_its_check_is_no_account(account: str):
    assert spans(f"IBAN {account}") == []


PIECES = st.one_of(
    st.text(max_size=30),
    st.sampled_from([*(secret for _, secret in TOKENS), *(place.format(secret) for _, secret, place in PLACED)]),
    st.sampled_from(
        [
            "[secret:password]",
            "[secret:",
            "]",
            "password is ",
            "pin: ",
            "=",
            '"',
            "\n",
            "\u200b",
            "\x00",
            "\ud800",
            "\ue000",
        ]
    ),
)


@given(st.lists(PIECES, max_size=6).map("".join))
def test_spans_are_ordered_apart_and_inside(text: str):
    last = 0
    for span in SCANNER.find(text):
        assert last <= span.start < span.end <= len(text)
        assert span.kind in find_kinds()
        last = span.end


@given(st.lists(PIECES, max_size=6).map("".join))
def test_masked_text_holds_nothing_and_masking_again_changes_nothing(text: str):
    masked = SCANNER.mask(text)
    assert SCANNER.find(masked) == []
    assert SCANNER.mask(masked) == masked


@given(st.sampled_from(TOKENS), st.text(max_size=40), st.text(max_size=40))
def test_mask_removes_the_value_from_any_surroundings(token: tuple[str, str], before: str, after: str):
    assert token[1] not in SCANNER.mask(f"{before} {token[1]} {after}")


def test_patterns_keep_to_what_a_linear_engine_takes():
    for rule in find_rules():
        pattern = rule.pattern.source
        assert not any(sign in pattern for sign in ("(?=", "(?!", "(?<=", "(?<!", "(?P=", "\\1"))
        assert rule.kind == rule.kind.lower().replace("-", "_")


@pytest.mark.loop("check")
@pytest.mark.parametrize(
    "flood",
    [
        "password " * 14000,
        "eyJaaaaaaaaa." * 10000,
        "4111 " * 26000,
        "a://b:" * 22000,
        "password" + " " * 130_000,
        "-----BEGIN PRIVATE KEY-----" * 4800,
    ],
    ids=["names", "jwt", "digits", "urls", "blanks", "pem"],
)
def test_time_grows_with_the_text_and_no_faster(flood: str):
    def seconds(text: str) -> float:
        best = float("inf")
        for _ in range(3):
            with untraced():
                start = time.process_time()
                SCANNER.find(text)
                best = min(best, time.process_time() - start)
        return best

    eighth = max(seconds(flood[: len(flood) // 8]), 0.001)
    assert seconds(flood) < 8 * 3 * eighth


def test_a_marker_in_a_secrets_place_is_no_secret() -> None:
    text = "WIFI:T:WPA;S:Cafe;P:[secret:wifi_password];;"
    assert SCANNER.find(text) == []
    assert SCANNER.mask(text) == text


APART = re.compile(
    r"(?<![!-~])(?:(?:[!-~] ){9,}[!-~]|"
    + "|".join(rf"(?:[!-~]{{{n}}} ){{{max(2, 12 // n)},}}[!-~]{{1,{n}}}" for n in range(2, 11))
    + r")(?![!-~])"
)
"""Letters apart, and groups of one size, as they stand in a text."""
SEAMS = st.sampled_from([" ", " ", " ", " ", " ", "\n", "\r\n", "  ", "\u00e9", " \u00e9 ", "\u044f\u044f"])


@given(
    st.integers(1, 10).flatmap(
        lambda size: st.lists(
            st.tuples(st.integers(0, 11) | st.just(size) | st.just(size) | st.just(300), SEAMS), max_size=20
        )
    )
)
def test_blanks_within_groups_are_those_that_the_text_shows(words: list[tuple[int, str]]):
    """They are found by the lengths of the words, which takes a fraction of the time."""
    text = "".join("x" * size + seam for size, seam in words)
    shown = [place for m in APART.finditer(text) for place in range(*m.span()) if text[place] == " "]
    found = list(secret_scanner._find_gaps(secret_scanner._View(text)))
    assert found == [(place, place + 1, "") for place in shown]


@given(st.text("aB3 \n%41\u00e9+'", max_size=60), st.data())
def test_a_place_in_a_text_that_was_put_together_is_known_in_the_text(text: str, data: st.DataObject):
    view = secret_scanner._View(text)
    for edits in (secret_scanner._find_gaps, secret_scanner._find_joints, secret_scanner._find_escapes):
        undone = view.apply_edits(edits(view))
        if undone is not None and undone.text:
            start = data.draw(st.integers(0, len(undone.text) - 1))
            first, behind = undone.original(start, start + 1)
            assert undone.text[start] in (text[first], chr(int(text[first + 1 : behind] or "0", 16)))


def test_groups_on_a_line_of_their_own_are_a_secret():
    groups = "AKIA" + "Q7R", "2VN5XK3", "WZ6T4M"
    text = "the key:\n" + " ".join(groups) + "\nkeep it"
    assert SCANNER.mask(text) == "the key:\n[secret:aws_access_key]\nkeep it"


@each(
    "text",
    [
        "Password:\n\n    Use at least 12 characters, Ab1! or better.\n",
        "if not password:\n    user2 = find()\n    return user2\n",
        "password: >\n  The one that Bob2 wrote down.\n",
        "token:\n  $TOKEN_FILE_V2\n",
        "Password:\n\n- see sheet2\n",
    ],
)
def test_what_follows_a_name_in_the_next_line_is_its_value_only_where_it_stands_alone(text: str):
    assert spans(text) == []
