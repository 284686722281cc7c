! Firstprivate variables: numbers of every kind, arrays, derived types.
! with: parts/check.f90
module host_side
  use check
  use, intrinsic :: iso_fortran_env, only: int8, int16, int64, real32, real64
  implicit none
  type :: point
    real(real64) :: x, y, z
    integer :: tag
  end type
  integer :: count = 0
contains
  subroutine look(i, l, k, s, r, d, z)
    integer, intent(in) :: i
    logical, intent(in) :: l
    integer(int8), intent(in) :: k
    integer(int64), intent(in) :: s
    real(real32), intent(in) :: r
    real(real64), intent(in) :: d
    complex(real64), intent(in) :: z
    call expect('i', i, -77)
    call expect('l', merge(1, 0, l), 1)
    call expect('k', int(k), -8)
    call expect('s', merge(1, 0, s == 1234567890123_int64), 1)
    call expect_real('r', real(r, real64), 1.25_real64)
    call expect_real('d', d, -2.5_real64)
    call expect_real('re z', real(z, real64), 3.5_real64)
    call expect_real('im z', aimag(z), 4.5_real64)
    count = count + 1
  end subroutine

  subroutine look_at_point(p, a)
    type(point), intent(inout) :: p
    integer, intent(in) :: a(3, 2)
    call expect_real('p%x', p%x, 0.5_real64)
    call expect_real('p%z', p%z, 2.5_real64)
    call expect('p%tag', p%tag, 9)
    call expect('a(3, 1)', a(3, 1), 31)
    call expect('a(2, 2)', a(2, 2), 22)
    p%x = 0
    count = count + 1
  end subroutine
end module

program values
  use omp_lib
  use host_side
  !$omp requires reverse_offload
  implicit none
  logical :: initial
  real(real64) :: after
  initial = .true.
  !$omp target map(from: initial, after)
  block
    integer :: i, a(3, 2)
    logical :: l
    integer(int8) :: k
    integer(int64) :: s
    real(real32) :: r
    real(real64) :: d
    complex(real64) :: z
    type(point) :: p
    initial = omp_is_initial_device()
    i = -77
    l = .true.
    k = -8_int8
    s = 1234567890123_int64
    r = 1.25
    d = -2.5_real64
    z = cmplx(3.5, 4.5, real64)
    p = point(0.5, 1.5, 2.5, 9)
    a = reshape([11, 21, 31, 12, 22, 32], [3, 2])
    !$omp target device(ancestor: 1) firstprivate(i, l, k, s, r, d, z)
    call look(i, l, k, s, r, d, z)
    !$omp end target
    !$omp target device(ancestor: 1) firstprivate(p, a)
    call look_at_point(p, a)
    !$omp end target
    after = p%x
  end block
  !$omp end target
  call expect_on_device(initial)
  call expect_real('p%x after', after, 0.5_real64)
  call expect('count', count, 2)
  call finish
end program
