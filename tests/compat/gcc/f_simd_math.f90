! simd loops over intrinsic and elemental functions, with divergent lanes. Arguments are passed
! by value, and complex functions are left out: see docs/gcc.md.
! compare: host
! with: parts/check.f90
module functions
  implicit none
  !$omp declare target(smooth, collatz, root)
contains
  elemental real(8) function smooth(x, k)
    real(8), value :: x
    integer, value :: k
    smooth = x
    if (k > 0) smooth = smooth * 0.5d0 + k
  end function

  pure integer function collatz(start)
    integer, value :: start
    integer :: n
    n = start
    collatz = 0
    do while (n > 1)
      if (mod(n, 2) == 1) then
        n = 3 * n + 1
      else
        n = n / 2
      end if
      collatz = collatz + 1
    end do
  end function

  ! Newton's method, which ends earlier for some lanes.
  real(8) function root(x)
    real(8), value :: x
    real(8) :: next
    integer :: k
    root = max(x, 1d0)
    do k = 1, 60
      next = 0.5d0 * (root + x / root)
      if (abs(next - root) < 1d-14 * root) exit
      root = next
    end do
  end function
end module

program simd_math
  use omp_lib
  use check
  use functions
  implicit none
  integer, parameter :: n = 150
  logical :: initial
  integer :: i, steps(n), last, wrong
  real(8) :: a(n), b(n), c(n), d(n), total, greatest
  real(4) :: s(n)
  complex(8) :: z(n)
  initial = .true.
  !$omp target map(from: initial)
  initial = omp_is_initial_device()
  !$omp end target
  call expect_on_device(initial)

  !$omp target simd map(from: a, b, c, d)
  do i = 1, n
    a(i) = sin(i * 0.1d0) + cos(i * 0.2d0) * tan(i * 0.01d0)
    b(i) = exp(-i * 0.05d0) + log(i + 1d0) + sqrt(i * 3d0) + log10(i * 1d0)
    c(i) = atan2(i - 70d0, 3d0) + asin(i / 151d0) + acos(-i / 151d0) + sinh(i * 0.02d0) + tanh(i * 0.03d0)
    d(i) = (1 + i * 0.01d0)**2.5d0 + erf(i * 0.01d0) + gamma(1 + i * 0.02d0) + mod(i * 1.7d0, 3d0) + hypot(i * 1d0, 4d0)
  end do
  wrong = 0
  do i = 1, n
    call near(a(i), sin(i * 0.1d0) + cos(i * 0.2d0) * tan(i * 0.01d0))
    call near(b(i), exp(-i * 0.05d0) + log(i + 1d0) + sqrt(i * 3d0) + log10(i * 1d0))
    call near(c(i), atan2(i - 70d0, 3d0) + asin(i / 151d0) + acos(-i / 151d0) + sinh(i * 0.02d0) + tanh(i * 0.03d0))
    call near(d(i), (1 + i * 0.01d0)**2.5d0 + erf(i * 0.01d0) + gamma(1 + i * 0.02d0) + mod(i * 1.7d0, 3d0) &
              + hypot(i * 1d0, 4d0))
  end do
  call expect('real(8)', wrong, 0)

  !$omp target teams distribute parallel do num_teams(2) thread_limit(4) map(from: z)
  do i = 1, n
    z(i) = exp(cmplx(0.01d0 * i, 0.1d0 * i, 8)) * sqrt(cmplx(i, -i, 8)) + conjg(cmplx(i, 2, 8))
  end do
  !$omp target teams distribute parallel do simd num_teams(2) thread_limit(4) map(from: s)
  do i = 1, n
    s(i) = sin(i * 0.1) + exp(-i * 0.1) + sqrt(real(i)) + aint(i * 0.3) + nint(i * 0.26) + sign(2.0, 70.0 - i)
  end do
  wrong = 0
  do i = 1, n
    call near(1d0 * s(i), 1d0 * (sin(i * 0.1) + exp(-i * 0.1) + sqrt(real(i)) + aint(i * 0.3) + nint(i * 0.26) &
              + sign(2.0, 70.0 - i)), 1d-5)
    call near(abs(z(i)), abs(exp(cmplx(0.01d0 * i, 0.1d0 * i, 8)) * sqrt(cmplx(i, -i, 8)) + conjg(cmplx(i, 2, 8))))
  end do
  call expect('real(4) and complex(8)', wrong, 0)

  total = 0
  greatest = -1
  last = 0
  !$omp target simd map(from: steps, a) map(tofrom: total, greatest) reduction(+: total) reduction(max: greatest) &
  !$omp& lastprivate(last)
  do i = 1, n
    steps(i) = collatz(i)
    if (mod(i, 3) == 0) then
      a(i) = smooth(aint(root(i * 1d0) * 1000), steps(i))
    else if (mod(i, 5) == 0) then
      a(i) = smooth(i * 0.5d0, mod(i, 4)) + collatz(i + 7)
    else
      a(i) = collatz(2 * i + 1)
    end if
    total = total + steps(i) + a(i)
    greatest = max(greatest, a(i))
    last = steps(i)
  end do
  print '(10(i0, 1x))', steps
  print '(6f12.3)', a
  print '(2f14.3, i4)', total, greatest, last

  ! Arrays by elemental functions, in a loop of a worksharing construct.
  !$omp target parallel do num_threads(4) map(from: b)
  do i = 1, n / 10
    b(10 * i - 9:10 * i) = smooth([1d0, 2d0, 3d0, 4d0, 5d0, 6d0, 7d0, 8d0, 9d0, 10d0], i)
  end do
  print '(6f12.3)', b
  call finish()
contains
  subroutine near(got, wanted, tolerance)
    real(8), intent(in) :: got, wanted
    real(8), intent(in), optional :: tolerance
    real(8) :: by
    by = 1d-11
    if (present(tolerance)) by = tolerance
    if (.not. abs(got - wanted) <= by * max(1d0, abs(wanted))) wrong = wrong + 1
  end subroutine
end program
